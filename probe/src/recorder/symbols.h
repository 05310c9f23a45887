// SPDX-License-Identifier: MIT
/* The kernel's symbols in a session; where it hides their addresses, they are shown briefly. */
#ifndef WHYLATE_RECORDER_SYMBOLS_H
#define WHYLATE_RECORDER_SYMBOLS_H

#include <stdbool.h>

struct flight;
struct guardian;

struct symbols_view {
	int kptr_restrict; /* as found; -1 where there is no such setting */
	bool lowered;	   /* it is set to 1, and the guardian has its former value */
};

/* symbols_show - let root see the kernel's addresses until symbols_hide(), where possible */
void symbols_show(struct guardian *guardian, struct symbols_view *view);

/* symbols_hide - leave the setting as it was found; view->lowered stays as it was */
void symbols_hide(struct guardian *guardian, const struct symbols_view *view);

/* symbols_send - look up all addresses that events had, and send names, counts and build ids */
void symbols_send(struct flight *flight);

#endif
