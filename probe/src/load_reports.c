// SPDX-License-Identifier: MIT
/* What the loads have done, for the host. */
#include <string.h>

#include "clock.h"
#include "session_parts.h"

#define LOAD_REPORT_NS 500000000u

/* send_load - the work of all instances; the worst of their states */
static void send_load(struct session *session, uint16_t load, uint64_t now_ns)
{
	const struct load_range *range = &session->loads[load];
	int state = LOAD_RUNNING;
	uint64_t work = 0;
	char text[sizeof(session->guardian->slots->message) + 1] = "";

	for (size_t i = range->first; i < range->first + range->count; i++) {
		struct load_slot *slot = &session->guardian->slots[i];
		int one = atomic_load(&slot->state);

		work += atomic_load_explicit(&slot->work, memory_order_relaxed);
		if (one == LOAD_FAILED || (one == LOAD_ENDED && state != LOAD_FAILED)) {
			state = one;
			memcpy(text, slot->message, sizeof(slot->message));
			text[sizeof(slot->message)] = '\0';
		}
	}
	SEND(session, load_work, LOAD_WORK, .load = load, .state = (uint8_t)state, .now_ns = now_ns,
	     .work = work, .message = wire_text(text));
}

void loads_tick(struct session *session, uint64_t now_ns)
{
	if (!session->slots_used || now_ns - session->loads_ns < LOAD_REPORT_NS)
		return;
	session->loads_ns = now_ns;
	for (uint16_t i = 0; i < MAX_LOADS; i++)
		if (session->loads[i].count && link_has_room(&session->link, WIRE_MAX_PAYLOAD))
			send_load(session, i, clock_ns());
}
