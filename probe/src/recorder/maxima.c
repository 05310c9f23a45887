// SPDX-License-Identifier: MIT
#include "maxima.h"

#include <string.h>

#include "names.h"
#include "wire/send.h"

/* What has the same place on each CPU is in it alone, but for a device's interrupt. */
struct merged {
	struct recorder_maximum maximum;
	uint16_t longest_cpu;
};

void maxima_clear(const struct recorder *recorder)
{
	/* Programs may write meanwhile: then a maximum is of before, which is none too low. */
	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i])
			memset(recorder->cpus[i]->maximum, 0, sizeof(recorder->cpus[i]->maximum));
}

static bool is_measured(const struct recorder *recorder)
{
	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i] && recorder->cpus[i]->measured)
			return true;
	return false;
}

/* place_of - return a place of a CPU whose maxima count; NULL: nothing came there */
static const struct recorder_maximum *place_of(const struct recorder *recorder, uint16_t cpu,
					       unsigned place, bool measured)
{
	const struct recorder_cpu *recorded = recorder->cpus[cpu];

	if (!recorded || (measured && !recorded->measured) || !recorded->maximum[place].arrivals)
		return NULL;
	return &recorded->maximum[place];
}

static void add(struct merged *merged, const struct recorder_maximum *from, uint16_t cpu)
{
	struct recorder_maximum *to = &merged->maximum;

	if (!to->arrivals || from->longest_ns > to->longest_ns) {
		to->longest_ns = from->longest_ns;
		to->longest_at_ns = from->longest_at_ns;
		merged->longest_cpu = cpu;
	}
	for (unsigned i = 0; i < MAXIMUM_TOTALS; i++)
		if (from->longest_total_ns[i] > to->longest_total_ns[i])
			to->longest_total_ns[i] = from->longest_total_ns[i];
	to->device = from->device;
	to->arrivals += from->arrivals;
	for (unsigned i = 0; i < MAXIMUM_SPANS && from->arrivals > MAXIMUM_GAPS(i); i++)
		if (!to->span_ns[i] || from->span_ns[i] < to->span_ns[i])
			to->span_ns[i] = from->span_ns[i];
}

static void send_one(struct sender *sender, unsigned place, const struct merged *merged)
{
	const struct recorder_maximum *maximum = &merged->maximum;
	uint8_t kind = MAXIMUM_OTHERS, spans_room[sizeof(maximum->span_ns)],
		totals_room[sizeof(maximum->longest_total_ns)];
	uint64_t number = 0, spans_ns[MAXIMUM_SPANS], totals_ns[MAXIMUM_TOTALS];
	char name[160] = "";
	size_t spans = 0;

	if (place < MAXIMA_SOFTIRQS) {
		kind = MAXIMUM_VECTOR;
		number = place;
	} else if (place < MAXIMA_DEVICES) {
		kind = MAXIMUM_SOFTIRQ;
		number = place - MAXIMA_SOFTIRQS;
	} else if (place < MAXIMA_OTHERS) {
		kind = MAXIMUM_DEVICE;
		number = maximum->device - 1;
		names_of_interrupt((uint32_t)number, name, sizeof(name));
	}
	for (; spans < MAXIMUM_SPANS && maximum->span_ns[spans]; spans++)
		spans_ns[spans] = maximum->span_ns[spans];
	/* A short time that was negative may make more of them take less. */
	for (unsigned i = 0; i < MAXIMUM_TOTALS; i++) {
		totals_ns[i] = maximum->longest_total_ns[i];
		if (i && totals_ns[i] < totals_ns[i - 1])
			totals_ns[i] = totals_ns[i - 1];
	}
	KEEP(sender, recorder_maximum, RECORDER_MAXIMUM, .kind = kind, .number = (uint32_t)number,
	     .cpu = merged->longest_cpu, .arrivals = maximum->arrivals,
	     .longest_ns = maximum->longest_ns, .longest_at_ns = maximum->longest_at_ns,
	     .totals_ns = wire_list_of_u64(totals_room, totals_ns, MAXIMUM_TOTALS),
	     .spans_ns = wire_list_of_u64(spans_room, spans_ns, spans), .name = wire_text(name));
}

/* is_first - whether no CPU before has the same in that place */
static bool is_first(const struct recorder *recorder, uint16_t cpu, unsigned place, bool measured)
{
	uint64_t device = place_of(recorder, cpu, place, measured)->device;

	for (uint16_t i = 0; i < cpu; i++) {
		const struct recorder_maximum *before = place_of(recorder, i, place, measured);

		if (before && before->device == device)
			return false;
	}
	return true;
}

static void send_place(const struct recorder *recorder, struct sender *sender, unsigned place,
		       bool measured)
{
	for (uint16_t first = 0; first < recorder->cpu_limit; first++) {
		struct merged merged = {0};

		if (!place_of(recorder, first, place, measured) ||
		    !is_first(recorder, first, place, measured))
			continue;
		for (uint16_t cpu = first; cpu < recorder->cpu_limit; cpu++) {
			const struct recorder_maximum *from =
			    place_of(recorder, cpu, place, measured);

			if (from && (cpu == first || from->device == merged.maximum.device))
				add(&merged, from, cpu);
		}
		send_one(sender, place, &merged);
	}
}

void maxima_send(const struct recorder *recorder, struct sender *sender)
{
	bool measured = is_measured(recorder);

	for (unsigned place = 0; place < MAXIMA_MOST; place++)
		send_place(recorder, sender, place, measured);
}
