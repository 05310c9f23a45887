// SPDX-License-Identifier: MIT
/*
 * wire_echo MODE - what the probe makes of bytes, as text that a test can compare
 *
 * frames   the stream on stdin: a line "name number field=value ... frame=HEX" for each sound
 *          frame, with what packing and encoding the fields gives again; then the counts.
 *          Integers are decimal, text and bytes hexadecimal, elements of lists end with a comma.
 * cobs     lines of hexadecimal: "encoded decoded" for each
 * xxh64    lines of hexadecimal: their checksum
 * samples  lines "index latency overruns": a line "first count HEX" for each block that
 *          samples_take() makes of them with the room that the second argument says
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "wire/messages.h"
#include "wire/xxh64.h"

/* For the encoding alone, which the probe itself needs only inside frames. */
#include "wire/frame.c"

#define LINE_SIZE  16384
#define RING_SLOTS 4096

static void put_hex(const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		printf("%02x", data[i]);
}

/* get_hex - the bytes of a line of hexadecimal digits, in place; returns how many */
static size_t get_hex(char *line, uint8_t *bytes)
{
	size_t length = strcspn(line, "\n") / 2;

	for (size_t i = 0; i < length; i++) {
		char digits[3] = {line[2 * i], line[2 * i + 1], '\0'};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length;
}

/* ---------------------------------------------------------------- fields */

#define NUMBER(field) printf(" " #field "=%" PRIu64, (uint64_t)message.field)
#define SIGNED(field) printf(" " #field "=%" PRId32, message.field)
#define BYTES(field)                                                                               \
	do {                                                                                       \
		printf(" " #field "=");                                                            \
		put_hex(message.field.data, message.field.length);                                 \
	} while (0)
#define LIST_U16(field)                                                                            \
	do {                                                                                       \
		printf(" " #field "=");                                                            \
		for (size_t i = 0; i < message.field.count; i++)                                   \
			printf("%u,", wire_list_u16(message.field, i));                            \
	} while (0)
#define LIST_U64(field)                                                                            \
	do {                                                                                       \
		printf(" " #field "=");                                                            \
		for (size_t i = 0; i < message.field.count; i++)                                   \
			printf("%" PRIu64 ",", wire_list_u64(message.field, i));                   \
	} while (0)
#define LIST_STR(field)                                                                            \
	do {                                                                                       \
		struct wire_list rest = message.field;                                             \
		printf(" " #field "=");                                                            \
		while (rest.count) {                                                               \
			struct wire_bytes text = wire_list_next_str(&rest);                        \
			put_hex(text.data, text.length);                                           \
			printf(",");                                                               \
		}                                                                                  \
	} while (0)

/* A message's case: its fields as text, and packed again. */
#define ECHO(NAME, name, ...)                                                                      \
	case WIRE_##NAME: {                                                                        \
		struct wire_##name message;                                                        \
		if (!wire_unpack_##name(frame->payload, frame->length, &message))                  \
			return false;                                                              \
		printf(#name " %" PRIu32, frame->number);                                          \
		__VA_ARGS__;                                                                       \
		wire_pack_##name(writer, &message);                                                \
		return !writer->failed;                                                            \
	}

/* echo - print a frame's fields and pack them again; false where they are no such message */
static bool echo(const struct frame *frame, struct wire_writer *writer)
{
	switch (frame->kind) {
		ECHO(HELLO, hello, BYTES(version))
		ECHO(READ, read, NUMBER(how); NUMBER(limit); NUMBER(offset); BYTES(pattern))
		ECHO(LOAD_START, load_start, NUMBER(load); NUMBER(count); BYTES(kind);
		     LIST_STR(argv))
		ECHO(SETTING, setting, BYTES(path); BYTES(value))
		ECHO(WAKEUP, wakeup, NUMBER(interval_ns); NUMBER(duration_ns); NUMBER(priority);
		     NUMBER(hold_idle); NUMBER(spool); LIST_U16(cpus))
		ECHO(STOP, stop, (void)message)
		ECHO(FREQUENCY, frequency, LIST_U16(cpus))
		ECHO(FINISH, finish, (void)message)
		ECHO(KEEPALIVE, keepalive, NUMBER(timeout_ms))
		ECHO(PAUSE, pause, NUMBER(duration_ms))
		ECHO(PHASE, phase, NUMBER(phase_ns))
		ECHO(WELCOME, welcome, BYTES(version); BYTES(arch); BYTES(sysname); BYTES(nodename);
		     BYTES(release); BYTES(kernel_version); BYTES(machine); NUMBER(uid);
		     NUMBER(capabilities); NUMBER(rtprio_limit); NUMBER(memlock_limit);
		     NUMBER(clock_resolution_ns); NUMBER(clock_read_ns); LIST_U16(cpus))
		ECHO(DONE, done, NUMBER(command))
		ECHO(FAILED, failed, NUMBER(command), SIGNED(error); BYTES(text))
		ECHO(FILE, file, NUMBER(command), SIGNED(error); NUMBER(truncated); NUMBER(more);
		     BYTES(path); BYTES(data))
		ECHO(CPU_STARTED, cpu_started, NUMBER(cpu); NUMBER(policy); NUMBER(priority);
		     NUMBER(locked); NUMBER(start_ns); NUMBER(end_ns); NUMBER(interval_ns))
		ECHO(SAMPLES, samples, NUMBER(cpu); NUMBER(count); NUMBER(first); BYTES(data))
		ECHO(PROGRESS, progress, NUMBER(now_ns); LIST_U64(next))
		ECHO(LOAD_WORK, load_work, NUMBER(load); NUMBER(state); NUMBER(now_ns);
		     NUMBER(work); BYTES(message))
		ECHO(CPU_RESULT, cpu_result, NUMBER(cpu); NUMBER(policy); NUMBER(priority);
		     NUMBER(locked); NUMBER(start_ns); NUMBER(end_ns); NUMBER(seen);
		     NUMBER(overrun); NUMBER(dropped))
		ECHO(RESULT, result, NUMBER(cpu_time_ns); NUMBER(peak_memory))
		ECHO(CPU_FREQUENCY, cpu_frequency, NUMBER(cpu); NUMBER(hz))
		ECHO(CPU_COUNTS, cpu_counts, NUMBER(cpu); NUMBER(chain); SIGNED(cycles_error);
		     NUMBER(cycles); SIGNED(instructions_error); NUMBER(instructions))
		ECHO(NOTE, note, BYTES(code); BYTES(text))
		ECHO(LOAD_STARTED, load_started, NUMBER(load); NUMBER(count); BYTES(unit))
		ECHO(RECORDER, recorder, NUMBER(engine); NUMBER(threshold_ns); NUMBER(tail_ppm);
		     NUMBER(body_every); NUMBER(ring_bytes); NUMBER(stop_above_ns))
		ECHO(RECORDER_STARTED, recorder_started, BYTES(engine); NUMBER(ring_events))
		ECHO(RECORDER_SOURCE, recorder_source, BYTES(name); SIGNED(error))
		ECHO(SAMPLE_STAGES, sample_stages, NUMBER(cpu); NUMBER(count); NUMBER(first);
		     BYTES(data))
		ECHO(WINDOW, window, NUMBER(cpu); NUMBER(tid); NUMBER(prio); NUMBER(why);
		     NUMBER(activation); NUMBER(due_ns); NUMBER(run_ns); NUMBER(timer_ns);
		     NUMBER(waking_ns); NUMBER(switched_ns); NUMBER(waking_cpu);
		     NUMBER(observed_ns); NUMBER(events); LIST_U64(sums))
		ECHO(EVENTS, events, NUMBER(cpu); NUMBER(count); BYTES(data))
		ECHO(APP, app, NUMBER(duration_ns); NUMBER(spool); NUMBER(pid); BYTES(comm);
		     LIST_STR(argv))
		ECHO(SAMPLE_THREADS, sample_threads, NUMBER(cpu); NUMBER(count); NUMBER(first);
		     BYTES(data))
		ECHO(APP_ENDED, app_ended, NUMBER(status); NUMBER(signal))
		ECHO(NAME, name, NUMBER(table); NUMBER(id); BYTES(text))
		ECHO(SYMBOLS, symbols, NUMBER(shown); SIGNED(kptr_restrict); NUMBER(lowered);
		     NUMBER(addresses); NUMBER(named))
		ECHO(BUILD_ID, build_id, BYTES(module); BYTES(id))
		ECHO(RECORDER_COST, recorder_cost, NUMBER(sampled_runs); NUMBER(sampled_ns);
		     NUMBER(gather_ns))
		ECHO(RECORDER_RESULT, recorder_result, NUMBER(windows); NUMBER(passed_over);
		     NUMBER(events); NUMBER(missed); NUMBER(runs); NUMBER(run_ns))
		ECHO(COUNTERS, counters, LIST_U64(types); LIST_U64(configs); LIST_U16(modes))
		ECHO(SWITCH_TRIAL, switch_trial, NUMBER(trial); NUMBER(tasks); NUMBER(over);
		     NUMBER(threads); NUMBER(set_bytes); NUMBER(block_ns); NUMBER(repetitions);
		     NUMBER(priority); LIST_U16(cpus))
		ECHO(MEMORY_TRIAL, memory_trial, NUMBER(trial); NUMBER(what); NUMBER(source);
		     NUMBER(pages); NUMBER(routine); NUMBER(size); NUMBER(block_ns);
		     NUMBER(repetitions); NUMBER(cpu))
		ECHO(CLOCK_TRIAL, clock_trial, NUMBER(trial); SIGNED(clock); NUMBER(how);
		     NUMBER(threads); NUMBER(service_ns); NUMBER(think_ns); NUMBER(block_ns);
		     NUMBER(repetitions); LIST_U16(cpus))
		ECHO(COMMAND_TRIAL, command_trial, NUMBER(trial); LIST_STR(argv))
		ECHO(ACCOUNT, account, (void)message)
		ECHO(SWITCH_ROW, switch_row, NUMBER(trial); NUMBER(repetition); NUMBER(ring_ns);
		     NUMBER(own_ns); NUMBER(hops); NUMBER(switches))
		ECHO(SWITCH_FLUSHES, switch_flushes, NUMBER(trial); NUMBER(hops); NUMBER(switches);
		     NUMBER(flushes); SIGNED(error))
		ECHO(MEMORY_ROW, memory_row, NUMBER(trial); NUMBER(repetition); NUMBER(ns);
		     NUMBER(passes))
		ECHO(MEMORY_BACKING, memory_backing, NUMBER(trial); NUMBER(after); NUMBER(target);
		     NUMBER(pages); NUMBER(present); NUMBER(frames); NUMBER(huge_bytes);
		     NUMBER(hugetlb_bytes); SIGNED(error))
		ECHO(CLOCK_NATURE, clock_nature, NUMBER(trial); NUMBER(system_call);
		     NUMBER(resolution_ns))
		ECHO(CLOCK_ROW, clock_row, NUMBER(trial); NUMBER(repetition); NUMBER(thread);
		     NUMBER(cpu); NUMBER(ns); NUMBER(calls); NUMBER(checks); NUMBER(backward);
		     NUMBER(most_backward_ns))
		ECHO(COMMAND_ROW, command_row, NUMBER(trial); NUMBER(wall_ns); NUMBER(user_ns);
		     NUMBER(system_ns); NUMBER(peak_memory); NUMBER(status); NUMBER(signal))
		ECHO(COMMAND_OUTPUT, command_output, NUMBER(trial); NUMBER(cut); BYTES(data))
		ECHO(TRIAL_COUNTS, trial_counts, NUMBER(trial); NUMBER(repetition);
		     LIST_U64(values))
		ECHO(TRIAL_FAILED, trial_failed, NUMBER(trial); SIGNED(error); BYTES(text))
		ECHO(CPU_EVENTS, cpu_events, NUMBER(cpu); LIST_U64(values))
		ECHO(ACK, ack, NUMBER(next))
		ECHO(RESEND, resend, NUMBER(first); NUMBER(count); BYTES(have))
		ECHO(FRAGMENT, fragment, NUMBER(number); NUMBER(kind); NUMBER(index); NUMBER(total);
		     BYTES(data))
		ECHO(TAIL, tail, NUMBER(last))
		ECHO(MARK, mark, NUMBER(token))
		ECHO(MARKED, marked, NUMBER(token))
	default:
		return false;
	}
}

/* ---------------------------------------------------------------- modes */

static void print_again(const struct frame *frame)
{
	uint8_t payload[WIRE_MAX_PAYLOAD], encoded[FRAME_MAX_ENCODED];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};
	size_t length;

	if (!echo(frame, &writer)) {
		printf("refused %u\n", frame->kind);
		return;
	}
	length = frame_encode(encoded, frame->kind, frame->number, payload, writer.length);
	printf(" frame=");
	put_hex(encoded, length);
	printf("\n");
}

static void frames(void)
{
	static struct frame_decoder decoder;
	uint8_t data[LINE_SIZE];
	size_t got;

	while ((got = fread(data, 1, sizeof(data), stdin)) > 0) {
		for (size_t at = 0; at < got;) {
			struct frame frame;
			bool found;

			at += frame_feed(&decoder, data + at, got - at, &frame, &found);
			if (found)
				print_again(&frame);
		}
	}
	printf("good=%" PRIu64 " damaged=%" PRIu64 " oversized=%" PRIu64 " foreign=%" PRIu64 "\n",
	       decoder.counts.good, decoder.counts.damaged, decoder.counts.oversized,
	       decoder.counts.foreign);
}

static void cobs(char *line, uint8_t *bytes)
{
	uint8_t encoded[LINE_SIZE], decoded[LINE_SIZE];

	while (fgets(line, LINE_SIZE, stdin)) {
		size_t length = cobs_encode(encoded, bytes, get_hex(line, bytes));

		put_hex(encoded, length);
		printf(" ");
		put_hex(decoded, cobs_decode(decoded, encoded, length));
		printf("\n");
	}
}

static void checksums(char *line, uint8_t *bytes)
{
	while (fgets(line, LINE_SIZE, stdin)) {
		size_t length = get_hex(line, bytes);

		printf("%016" PRIx64 "\n", xxh64(bytes, length));
	}
}

static void samples(char *line, size_t room)
{
	struct activation slots[RING_SLOTS], next;
	struct ring ring = {.slots = slots, .size = RING_SLOTS};
	uint8_t *data = malloc(room);
	struct sample_block block;

	while (data && fgets(line, LINE_SIZE, stdin) &&
	       sscanf(line, "%" SCNu64 " %" SCNd64 " %" SCNu32, &next.index, &next.latency_ns,
		      &next.overruns) == 3)
		if (!ring_put(&ring, next))
			break;
	ring.offered = ring_written(&ring);
	while (data && (block = samples_take(&ring, data, NULL, room)).count) {
		printf("%" PRIu64 " %u ", block.first, block.count);
		put_hex(data, block.length);
		printf("\n");
	}
	free(data);
}

int main(int argc, char **argv)
{
	char line[LINE_SIZE];
	uint8_t bytes[LINE_SIZE];

	if (argc == 2 && !strcmp(argv[1], "frames"))
		frames();
	else if (argc == 2 && !strcmp(argv[1], "cobs"))
		cobs(line, bytes);
	else if (argc == 2 && !strcmp(argv[1], "xxh64"))
		checksums(line, bytes);
	else if (argc == 3 && !strcmp(argv[1], "samples"))
		samples(line, strtoul(argv[2], NULL, 10));
	else
		return 2;
	return 0;
}
