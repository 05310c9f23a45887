// SPDX-License-Identifier: MIT
#include "gather.h"

#include "convert.h"
#include "tracefs/pages.h"
#include "rings.h"

/* put_each - append one event for each CPU of a set */
static void put_each(struct gather *gather, uint16_t cpu, struct converted *converted)
{
	for (uint32_t i = 0; i < converted->mask_size; i++)
		for (uint32_t bit = 0; converted->mask[i] >> bit; bit++) {
			/* A mask has room for CPUs that there cannot be. */
			if (i * 8 + bit >= gather->recorder->cpu_limit)
				return;
			if (!(converted->mask[i] >> bit & 1))
				continue;
			converted->event.b = (uint16_t)(i * 8 + bit);
			rings_put(gather->recorder, cpu, &converted->event);
		}
}

static void lost(struct gather *gather, struct stages_cpu *stages)
{
	stages_lost(stages);
	if (gather->watch)
		watch_lost(gather->watch);
}

void gather_page(struct gather *gather, uint16_t cpu, const uint8_t *bytes, size_t size,
		 uint64_t now_ns)
{
	struct recorder_cpu *state = gather->recorder->cpus[cpu];
	struct stages_cpu *stages = gather->stages.cpus[cpu];
	struct page_record record;
	struct converted converted;
	struct page page;

	page_open(&page, &gather->formats.page, bytes, size);
	if (page.lost) {
		state->missed += page.lost;
		lost(gather, stages);
	}
	while (page_next(&page, &record)) {
		/* No clock goes back or ahead of us: such a time is damage. */
		if (record.time_ns < gather->last_ns[cpu] || record.time_ns > now_ns ||
		    !convert(&gather->formats, &record, &converted)) {
			state->missed++;
			continue;
		}
		gather->last_ns[cpu] = record.time_ns;
		stages_event(&gather->stages, stages, &converted.event, converted.pid);
		if (converted.mask)
			put_each(gather, cpu, &converted);
		else
			rings_put(gather->recorder, cpu, &converted.event);
	}
	if (page.malformed) {
		state->missed++;
		lost(gather, stages);
	}
}
