// SPDX-License-Identifier: MIT
#include "load_reports.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "failure.h"

#define REPORT_NS (500 * NS_PER_MS)

void load_reports_init(struct load_reports *reports, struct sender *sender,
		       struct guardian *guardian)
{
	*reports = (struct load_reports){.sender = sender, .guardian = guardian};
}

int load_reports_start(struct load_reports *reports, const struct wire_load_start *start,
		       char *text)
{
	struct load_range *range = &reports->loads[start->load % WIRE_MOST_LOADS];
	char kind[32], argv[GUARDIAN_TEXT];
	size_t length;
	int error = 0;

	if (start->load >= WIRE_MOST_LOADS || start->count == 0 || range->count ||
	    start->count > WIRE_MOST_LOAD_INSTANCES - reports->slots_used ||
	    !wire_copy_text(start->kind, kind, sizeof(kind)) ||
	    !wire_copy_argv(start->argv, argv, sizeof(argv), &length))
		return fail(text, E2BIG, "invalid load: more loads, or a longer command, than fit");
	range->first = reports->slots_used;
	for (size_t i = 0; i < start->count; i++) {
		error =
		    guardian_load(reports->guardian, reports->slots_used, kind, argv, length, text);
		if (error)
			return error;
		reports->slots_used++;
		range->count++;
	}
	SEND(reports->sender, load_started, LOAD_STARTED, .load = start->load,
	     .count = start->count, .unit = wire_text(load_find(kind)->unit));
	return 0;
}

/* send_load - send the work of all instances and the worst of their states */
static void send_load(const struct load_reports *reports, uint16_t load)
{
	const struct load_range *range = &reports->loads[load];
	char text[sizeof(reports->guardian->slots->message) + 1] = "";
	int state = LOAD_RUNNING;
	uint64_t work = 0;

	for (size_t i = range->first; i < range->first + range->count; i++) {
		struct load_slot *slot = &reports->guardian->slots[i];
		int instance = atomic_load(&slot->state);

		work += atomic_load_explicit(&slot->work, memory_order_relaxed);
		if (instance == LOAD_FAILED || (instance == LOAD_ENDED && state != LOAD_FAILED)) {
			state = instance;
			memcpy(text, slot->message, sizeof(slot->message));
			text[sizeof(slot->message)] = '\0';
		}
	}
	SEND(reports->sender, load_work, LOAD_WORK, .load = load, .state = (uint8_t)state,
	     .now_ns = clock_ns(), .work = work, .message = wire_text(text));
}

/* send_device - send what was counted of the device that a load drives, if it drives one */
static void send_device(const struct load_reports *reports, uint16_t load)
{
	const struct load_device *device =
	    &reports->guardian->slots[reports->loads[load].first].device;

	if (!atomic_load_explicit(&device->is_known, memory_order_acquire) ||
	    !link_has_room(&reports->sender->link, WIRE_MAX_PAYLOAD))
		return;
#define COUNTED(which) atomic_load_explicit(&device->counted[which], memory_order_relaxed)
	SEND(reports->sender, load_device, LOAD_DEVICE, .load = load,
	     .now_ns = COUNTED(LOAD_COUNTED_NS), .device = wire_text(device->name),
	     .lines = wire_text(device->lines), .interrupts = COUNTED(LOAD_INTERRUPTS),
	     .softirqs = COUNTED(LOAD_SOFTIRQS), .in_count = COUNTED(LOAD_IN_COUNT),
	     .in_bytes = COUNTED(LOAD_IN_BYTES), .out_count = COUNTED(LOAD_OUT_COUNT),
	     .out_bytes = COUNTED(LOAD_OUT_BYTES), .received = COUNTED(LOAD_RECEIVED),
	     .delivered = COUNTED(LOAD_DELIVERED));
#undef COUNTED
}

void load_reports_poll(struct load_reports *reports, uint64_t now_ns)
{
	if (!reports->slots_used || now_ns - reports->reported_ns < REPORT_NS)
		return;
	reports->reported_ns = now_ns;
	for (uint16_t i = 0; i < WIRE_MOST_LOADS; i++)
		if (reports->loads[i].count &&
		    link_has_room(&reports->sender->link, WIRE_MAX_PAYLOAD)) {
			send_load(reports, i);
			send_device(reports, i);
		}
}
