// SPDX-License-Identifier: MIT
#include "symbols.h"

#include <fcntl.h>
#include <stdlib.h>

#include "build_id.h"
#include "failure.h"
#include "flight.h"
#include "guardian/guardian.h"
#include "names.h"
#include "small_file.h"
#include "wire/send.h"

#define KPTR_RESTRICT "/proc/sys/kernel/kptr_restrict"
/* At 2 all addresses are shown as 0, at 1 and 0 root sees them. */
#define HIDDEN_FROM_ROOT 2
#define SHOWN_TO_ROOT	 "1"

void symbols_show(struct guardian *guardian, struct symbols_view *view)
{
	char text[FAILURE_TEXT];

	view->kptr_restrict = -1;
	if (small_file_line(AT_FDCWD, KPTR_RESTRICT, text, sizeof(text)))
		view->kptr_restrict = atoi(text);
	/* Where it is refused the addresses stay hidden, which names_resolve() detects. */
	view->lowered = view->kptr_restrict >= HIDDEN_FROM_ROOT &&
			guardian_set(guardian, KPTR_RESTRICT, SHOWN_TO_ROOT, text) == 0;
}

void symbols_hide(struct guardian *guardian, const struct symbols_view *view)
{
	char text[FAILURE_TEXT];

	/* Where that fails, the guardian tries again at the end. */
	if (view->lowered)
		guardian_undo_last(guardian, KPTR_RESTRICT, text);
}

static void send_build_id(struct sender *sender, const char *module)
{
	uint8_t id[BUILD_ID_MOST];
	size_t length = build_id_read(module, id);

	if (length)
		KEEP(sender, build_id, BUILD_ID, .module = wire_text(module),
		     .id = {id, (uint16_t)length});
}

void symbols_send(struct flight *flight)
{
	struct symbols_view view;
	struct names_result result;

	symbols_show(flight->guardian, &view);
	names_resolve(&flight->names, &result);
	symbols_hide(flight->guardian, &view);
	if (!result.shown)
		send_note(flight->sender, "symbols",
			  "the functions of the kernel have no names: it hides their addresses "
			  "(kernel.kptr_restrict is %d; expected 0 or 1, and CAP_SYSLOG)",
			  view.kptr_restrict);
	KEEP(flight->sender, symbols, SYMBOLS, .shown = result.shown,
	     .kptr_restrict = view.kptr_restrict, .lowered = view.lowered,
	     .addresses = result.addresses, .named = result.named);
	send_build_id(flight->sender, "");
	for (size_t i = 0; i < result.module_count; i++)
		send_build_id(flight->sender, result.modules[i]);
}
