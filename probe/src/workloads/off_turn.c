// SPDX-License-Identifier: MIT
#include "off_turn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "wire/block.h"

/* Stretches and samples that are kept, all CPUs together: 64 MiB, with and without counters. Small
 * boards have 256 MiB, and while arrays grow up to half as much again is needed. */
#define MOST_KEPT    ((size_t)1 << 20)
#define MOST_COUNTED (MOST_KEPT / 2)
#define KEPT_BYTES   (sizeof(struct off_kept) + sizeof(((struct off_turn *)0)->comms[0]))
_Static_assert(((size_t)64 << 20) / KEPT_BYTES >= MOST_KEPT, "64 MiB");
_Static_assert(((size_t)64 << 20) / (KEPT_BYTES + sizeof(struct counted)) >= MOST_COUNTED,
	       "64 MiB with counters");
/* The part of a block that is reported where the turn is stopped. */
#define FEWEST_OF_BLOCK 4u
/* What a message has beside a block. */
#define MESSAGE_REST 32u

int off_turn_open(struct off_turn *turn, const struct wire_bench_off *plan,
		  struct child_context *context)
{
	*turn = (struct off_turn){.plan = plan, .context = context};
	return off_groups_open(&turn->groups)
		   ? 0
		   : fail(context->text, ENOMEM, "no memory for stretches");
}

static bool make_room(struct off_turn *turn)
{
	size_t room = turn->room ? 2 * turn->room : 4096;
	bool counts = turn->context->wanted->count;
	struct counted *counted = NULL;
	struct off_kept *kept;
	char (*comms)[16];

	if (turn->count < turn->room)
		return true;
	if (room > (counts ? MOST_COUNTED : MOST_KEPT))
		return false;
	kept = realloc(turn->kept, room * sizeof(*kept));
	turn->kept = kept ? kept : turn->kept;
	comms = realloc(turn->comms, room * sizeof(*comms));
	turn->comms = comms ? comms : turn->comms;
	if (counts)
		counted = realloc(turn->counted, room * sizeof(*counted));
	turn->counted = counted ? counted : turn->counted;
	if (!kept || !comms || (counts && !counted))
		return false;
	turn->room = room;
	return true;
}

struct off_kept *off_turn_add(struct off_turn *turn, const char comm[16])
{
	struct off_kept *kept;

	if (!make_room(turn))
		return NULL;
	memcpy(turn->comms[turn->count], comm, sizeof(turn->comms[0]));
	if (turn->counted)
		turn->counted[turn->count] = (struct counted){0};
	kept = &turn->kept[turn->count++];
	*kept = (struct off_kept){0};
	return kept;
}

void off_turn_move(struct off_turn *turn, size_t to, size_t from)
{
	memmove(turn->comms[to], turn->comms[from], sizeof(turn->comms[from]));
	if (turn->counted)
		turn->counted[to] = turn->counted[from];
	turn->kept[to] = turn->kept[from];
}

int off_turn_count(struct off_turn *turn, int map)
{
	const struct counter_set *set = turn->context->wanted;
	int error = cpu_counters_open(&turn->counters, set, turn->plan->cpus.count);

	/* The child's own are not read, and would take the hardware's. */
	counters_close(&turn->context->counters);
	if (error)
		return fail(turn->context->text, error, "no memory for counters");
	for (size_t i = 0; i < turn->plan->cpus.count && set->count && !error; i++)
		error = cpu_counters_add(&turn->counters, set, wire_list_u16(turn->plan->cpus, i),
					 map, WIRE_MOST_OFF_COUNTS, turn->context->text);
	return error;
}

static volatile sig_atomic_t is_stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	is_stopped = 1;
}

void off_turn_begin(struct off_turn *turn)
{
	signal(SIGTERM, stop);
	turn->start_ns = clock_ns();
	turn->end_ns = turn->start_ns + turn->plan->block_ns * turn->plan->repetitions;
}

/* end_early - the block under way is the last, where there is enough of it */
static void end_early(struct off_turn *turn, uint64_t passed_ns)
{
	uint64_t block_ns = turn->plan->block_ns, rest_ns = passed_ns % block_ns;

	if (rest_ns >= block_ns / FEWEST_OF_BLOCK)
		turn->blocks++;
	else
		passed_ns -= rest_ns;
	turn->end_ns = turn->start_ns + passed_ns;
}

bool off_turn_sleep(struct off_turn *turn, uint64_t ns)
{
	uint64_t block_ns = turn->start_ns + (turn->blocks + 1) * turn->plan->block_ns;
	uint64_t until_ns = clock_ns() + ns, passed_ns;

	clock_sleep_until(until_ns < block_ns ? until_ns : block_ns);
	passed_ns = clock_ns() - turn->start_ns;
	turn->blocks = (size_t)(passed_ns / turn->plan->block_ns);
	if (turn->blocks >= turn->plan->repetitions) {
		turn->blocks = turn->plan->repetitions;
		return false;
	}
	if (is_stopped)
		end_early(turn, passed_ns);
	return !is_stopped;
}

uint64_t off_turn_block_ns(const struct off_turn *turn, size_t block)
{
	uint64_t from_ns = turn->start_ns + block * turn->plan->block_ns;
	uint64_t rest_ns = turn->end_ns > from_ns ? turn->end_ns - from_ns : 0;

	return rest_ns < turn->plan->block_ns ? rest_ns : turn->plan->block_ns;
}

void off_turn_send_method(const struct off_turn *turn, enum off_method method, const char *why)
{
	REPORT(turn->context, off_method, OFF_METHOD, .turn = turn->context->turn,
	       .method = (uint8_t)method, .why = wire_text(why));
}

void off_turn_send_longest(const struct off_turn *turn)
{
	size_t longest[WIRE_MOST_OFF_LONGEST], count = 0;

	for (size_t i = 0; i < turn->count; i++) {
		enum off_class class = turn->groups.groups[turn->kept[i].group].class;
		size_t at = count;

		if (class != OFF_CLASS_DISABLED && class != OFF_CLASS_HANDLER)
			continue;
		while (at && turn->kept[longest[at - 1]].late_ns < turn->kept[i].late_ns)
			at--;
		if (at == WIRE_MOST_OFF_LONGEST)
			continue;
		count += count < WIRE_MOST_OFF_LONGEST;
		memmove(&longest[at + 1], &longest[at], (count - 1 - at) * sizeof(longest[0]));
		longest[at] = i;
	}
	for (size_t i = 0; i < count; i++) {
		const struct off_kept *kept = &turn->kept[longest[i]];
		const struct counted *counted = off_turn_counted(turn, kept);
		bool is_known = counted && counted->time_ns;
		size_t counters = is_known ? turn->context->wanted->count : 0;
		char comm[sizeof(turn->comms[0]) + 1] = "";
		uint8_t room[8 * WIRE_MOST_OFF_COUNTS];
		uint64_t counts[WIRE_MOST_OFF_COUNTS] = {0};

		memcpy(comm, turn->comms[longest[i]], sizeof(turn->comms[0]));
		if (is_known)
			memcpy(counts, counted->values, sizeof(counts));
		REPORT(turn->context, off_longest, OFF_LONGEST, .turn = turn->context->turn,
		       .at_ns = kept->time_ns, .cpu = wire_list_u16(turn->plan->cpus, kept->place),
		       .pid = kept->pid, .comm = wire_text(comm), .seen_ns = kept->late_ns,
		       .points = kept->points, .group = kept->group,
		       .counted_ns = is_known ? counted->time_ns : 0,
		       .counts = wire_list_of_u64(room, counts, counters));
	}
}

void off_turn_send_stretches(const struct off_turn *turn)
{
	static uint8_t data[WIRE_MAX_PAYLOAD];
	size_t room = sizeof(data) - MESSAGE_REST, i = 0;

	while (i < turn->count) {
		int64_t before[WIRE_MOST_COLUMNS] = {0};
		size_t first = i, length = 0;

		for (; i < turn->count && length + block_longest_row(BLOCK_OFF_STRETCHES) <= room &&
		       i - first < UINT16_MAX;
		     i++) {
			const struct off_kept *kept = &turn->kept[i];
			const int64_t columns[WIRE_MOST_COLUMNS] = {
			    (int64_t)kept->time_ns,
			    (int64_t)kept->late_ns,
			    (int64_t)kept->points,
			    wire_list_u16(turn->plan->cpus, kept->place),
			    kept->pid,
			    kept->group,
			};

			length += block_put(data + length, BLOCK_OFF_STRETCHES, columns, before);
		}
		REPORT(turn->context, off_stretches, OFF_STRETCHES, .turn = turn->context->turn,
		       .count = (uint16_t)(i - first), .first = first,
		       .data = {data, (uint16_t)length});
	}
}
