// SPDX-License-Identifier: MIT
/* What the files of this folder share among themselves: the loads behind the table in loads.c. */
#ifndef WHYLATE_LOAD_KINDS_H
#define WHYLATE_LOAD_KINDS_H

#include "load.h"

void load_memory(struct load_context *context);
void load_switch(struct load_context *context);
void load_net(struct load_context *context);
void load_fork(struct load_context *context);
void load_mmap(struct load_context *context);
void load_timer(struct load_context *context);
void load_disk(struct load_context *context);
void load_cmd(struct load_context *context);

/* load_end - like load_fail, for a load that came to its own end without an error */
void load_end(struct load_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
