// SPDX-License-Identifier: MIT
/* Packs events that it reads as text, and prints them in hexadecimal: see tests/wire. */
#include <inttypes.h>
#include <stdio.h>
#include "recorder/pack_events.h"
static void sink(void *context, enum name_table table, uint64_t id, const char *text)
{
	(void)context;
	printf("name %d %" PRIu64 " %s\n", (int)table, id, text);
}
int main(void)
{
	struct recorder_event event = {0};
	unsigned kind, a, b;
	uint64_t before = 2820000000000u;
	uint8_t data[PACKED_EVENT];
	struct names names;

	if (!names_open(&names, sink, NULL))
		return 1;
	while (scanf("%" SCNu64 " %u %u %u %u %u %" SCNu64 " %" SCNu64, (uint64_t *)&event.time_ns,
		     &kind, &a, &b, &event.c, &event.d, (uint64_t *)&event.e,
		     (uint64_t *)&event.f) == 8) {
		event.kind = (uint8_t)kind;
		event.a = (uint8_t)a;
		event.b = (uint16_t)b;
		size_t length = pack_event(data, &event, before, &names);
		printf("event ");
		for (size_t i = 0; i < length; i++)
			printf("%02x", data[i]);
		printf("\n");
		before = event.time_ns;
	}
	names_release(&names);
	return 0;
}
