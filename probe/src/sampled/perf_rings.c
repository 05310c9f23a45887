// SPDX-License-Identifier: MIT
#include "perf_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "failure.h"
#include "sampled/evidence.h"
#include "small_file.h"

/* Records of a CPU that are kept until they are looked at: a power of two. */
#define RING_BYTES ((size_t)512 << 10)
/* Places whose code is remembered; a power of two. */
#define LOOKED_AT 4096u
/* The longest record that is read: its numbers, and callers. */
#define RECORD_WORDS 64u
/* perf_event.h since 4.3 and 4.8 */
#define SWITCH_CPU_WIDE 15u
#define SWITCH_OUT	(1u << 13)
#define OF_USER		2u
#define CALLERS_MARKS	UINT64_C(0xfffffffffffff000) /* PERF_CONTEXT_: above all addresses */

/* What code at an address shows. */
struct looked_at {
	uint64_t address; /* 0: none */
	bool may_enable;
	uint8_t code[SAMPLED_CODE];
};

/* ---------------------------------------------------------------- opening */

int perf_rings_open(struct perf_rings *rings, size_t count, uint64_t period_ns, uint32_t machine,
		    char *text)
{
	int error;

	*rings =
	    (struct perf_rings){.count = count, .machine = machine, .code = {.peek = -1, .fd = -1}};
	rings->rings = calloc(count, sizeof(*rings->rings));
	rings->looked_at = calloc(LOOKED_AT, sizeof(*rings->looked_at));
	if (!rings->rings || !rings->looked_at)
		return fail(text, ENOMEM, "no memory for %zu CPUs", count);
	for (size_t i = 0; i < count; i++)
		rings->rings[i].grid.period_ns = period_ns;
	error = kernel_code_open(&rings->code);
	return error ? fail(text, error,
			    "the kernel's code can be read neither by BPF nor in "
			    "/proc/kcore: %s",
			    strerror(error))
		     : 0;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int perf_rings_event(struct perf_rings *rings, size_t place, uint16_t cpu, uint64_t period_ns)
{
	struct perf_event_attr attr;
	void *memory;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = period_ns;
	attr.sample_type =
	    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	attr.disabled = 1;
	/* Else the kernel stops it on an idle CPU, and begins another grid. */
	attr.exclude_idle = 1;
	attr.exclude_callchain_user = 1;
	attr.sample_id_all = 1;
	attr.context_switch = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.sample_max_stack = SAMPLED_CALLERS;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	memory =
	    mmap(NULL, page_size() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (memory == MAP_FAILED) {
		int error = errno;

		close((int)fd);
		errno = error;
		return -1;
	}
	rings->rings[place].memory = memory;
	return (int)fd;
}

void perf_rings_close(struct perf_rings *rings)
{
	for (size_t i = 0; rings->rings && i < rings->count; i++)
		if (rings->rings[i].memory)
			munmap(rings->rings[i].memory, page_size() + RING_BYTES);
	free(rings->rings);
	free(rings->looked_at);
	kernel_code_close(&rings->code);
	*rings = (struct perf_rings){.code = {.peek = -1, .fd = -1}};
}

/* ---------------------------------------------------------------- rows */

/* may_enable - as the program of the samples has it: the probe looks closer at the end */
static bool may_enable(uint32_t machine, const uint8_t code[SAMPLED_CODE])
{
	if (machine != SAMPLED_X86)
		return evidence_in_code(machine, code, SAMPLED_CODE);
	return code[SAMPLED_CODE - 1] == 0x9D || memchr(code + 2, 0xFB, SAMPLED_CODE - 3);
}

/* look_at - what the code before an address shows; NULL: it cannot be read */
static const struct looked_at *look_at(struct perf_rings *rings, uint64_t address)
{
	struct looked_at *looked = &rings->looked_at[address / 4 % LOOKED_AT];

	if (looked->address == address)
		return looked;
	looked->address = 0;
	if (!kernel_code_read(&rings->code, address - SAMPLED_CODE, looked->code, SAMPLED_CODE))
		return NULL;
	looked->address = address;
	looked->may_enable = may_enable(rings->machine, looked->code);
	return looked;
}

/* A sample, as its record has it. */
struct sample {
	uint64_t address;
	uint32_t pid;
	uint64_t time_ns;
	bool is_user;
	const uint64_t *callers;
	size_t count;
};

static void read_comm(uint32_t pid, char comm[16])
{
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	small_file_line(AT_FDCWD, path, name, sizeof(name));
	memset(comm, 0, 16);
	memcpy(comm, name, strnlen(name, 15));
}

/* take_sample - write a row of a sample, where it tells anything */
static void take_sample(struct perf_rings *rings, struct grid *grid, struct sampled_cpu *cpu,
			const struct sample *sample)
{
	uint64_t due_ns = grid_due(grid, sample->time_ns);
	uint64_t late_ns = sample->time_ns > due_ns ? sample->time_ns - due_ns : 0;
	uint32_t flags =
	    (sample->is_user ? SAMPLED_USER : 0) | (late_ns > cpu->limit_ns ? SAMPLED_LATE : 0);
	const struct looked_at *looked = sample->is_user ? NULL : look_at(rings, sample->address);
	struct sampled_row *row = &cpu->rows[cpu->written % SAMPLED_ROWS];

	grid->before_ns = sample->time_ns;
	cpu->samples++;
	if (looked && looked->may_enable)
		flags |= SAMPLED_CANDIDATE;
	if (cpu->purpose != SAMPLED_CALIBRATE && !(flags & (SAMPLED_LATE | SAMPLED_CANDIDATE)))
		return;
	if (cpu->written - cpu->read >= SAMPLED_ROWS) {
		cpu->lost++;
		return;
	}
	*row = (struct sampled_row){.number = cpu->written + 1,
				    .time_ns = sample->time_ns,
				    .late_ns = late_ns,
				    .due_ns = due_ns,
				    .address = sample->address,
				    .pid = sample->pid,
				    .flags = flags};
	if (cpu->purpose != SAMPLED_CALIBRATE)
		read_comm(sample->pid, row->comm);
	if (looked)
		memcpy(row->code, looked->code, sizeof(row->code));
	for (size_t i = 0, to = 0; i < sample->count && to < SAMPLED_CALLERS; i++)
		if (sample->callers[i] && sample->callers[i] < CALLERS_MARKS)
			row->callers[to++] = sample->callers[i];
	if (!sample->is_user && !row->callers[0])
		row->callers[0] = sample->address;
	cpu->written++;
}

/* ---------------------------------------------------------------- records */

/* Numbers of 64 bits behind the header: what sample_type asks for, in the kernel's order. */
enum { AT_IP, AT_TID, AT_TIME, AT_CALLERS, SAMPLE_WORDS };
/* Of a switch: who was before or comes next, and what sample_id_all adds. */
enum { AT_OTHER, AT_SWITCH_TID, AT_SWITCH_TIME, SWITCH_WORDS };

/* take_record - take a record of a CPU; words: what is behind its header */
static void take_record(struct perf_rings *rings, struct perf_ring *ring, struct sampled_cpu *cpu,
			const struct perf_event_header *header, const uint64_t *words, size_t count)
{
	struct grid *grid = &ring->grid;

	if (header->type == PERF_RECORD_LOST && count >= 2) {
		cpu->lost += words[1];
		grid->before_ns = 0;
	} else if (header->type == PERF_RECORD_THROTTLE || header->type == PERF_RECORD_UNTHROTTLE) {
		/* The kernel starts the timer again, with what was left of a period: another grid.
		 */
		grid->is_known = false;
		grid->count = 0;
		grid->before_ns = 0;
		cpu->lost++;
	} else if (header->type == SWITCH_CPU_WIDE && count >= SWITCH_WORDS) {
		uint32_t other = (uint32_t)(words[AT_OTHER] >> 32);

		/* The idle thread had the CPU until then. */
		if (!(header->misc & SWITCH_OUT) && !other)
			grid->before_ns = words[AT_SWITCH_TIME];
	} else if (header->type == PERF_RECORD_SAMPLE && count >= SAMPLE_WORDS) {
		struct sample sample = {
		    .address = words[AT_IP],
		    .pid = (uint32_t)(words[AT_TID] >> 32),
		    .time_ns = words[AT_TIME],
		    .is_user = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == OF_USER,
		    .callers = words + SAMPLE_WORDS,
		    .count = words[AT_CALLERS] < count - SAMPLE_WORDS ? (size_t)words[AT_CALLERS]
								      : count - SAMPLE_WORDS,
		};

		if (grid->is_known) {
			take_sample(rings, grid, cpu, &sample);
			return;
		}
		grid->first_ns[grid->count++] = sample.time_ns;
		if (grid->count == GRID_SAMPLES) {
			/* Others are gathered where these are of no grid. */
			grid_find(grid, grid->first_ns, grid->count);
			grid->count = 0;
			grid->before_ns = sample.time_ns;
		}
	}
}

/* copy_out - copy bytes of a ring, round its end */
static void copy_out(const char *data, uint64_t at, void *to, size_t size)
{
	size_t from = at % RING_BYTES, first = RING_BYTES - from < size ? RING_BYTES - from : size;

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, size - first);
}

void perf_rings_gather(struct perf_rings *rings, size_t place, struct sampled_cpu *cpu)
{
	struct perf_ring *ring = &rings->rings[place];
	struct perf_event_mmap_page *page = ring->memory;
	const char *data = (const char *)ring->memory + page_size();
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	uint64_t words[RECORD_WORDS];

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		size_t size;

		copy_out(data, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		size = header.size - sizeof(header);
		if (size > sizeof(words))
			size = sizeof(words);
		copy_out(data, tail + sizeof(header), words, size);
		take_record(rings, ring, cpu, &header, words, size / sizeof(words[0]));
		tail += header.size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

void perf_rings_restart(struct perf_rings *rings)
{
	for (size_t i = 0; i < rings->count; i++) {
		struct perf_event_mmap_page *page = rings->rings[i].memory;
		struct grid *grid = &rings->rings[i].grid;

		*grid = (struct grid){.period_ns = grid->period_ns};
		if (page)
			__atomic_store_n(&page->data_tail,
					 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
	}
}
