// SPDX-License-Identifier: MIT
#include "parts.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/kernel_btf.h"
#include "bpf/program.h"
#include "section/bpf/programs.h"
#include "section/section.h"
#include "small_file.h"

#define REALTIME "/sys/kernel/realtime"
#define STAT	 "/proc/stat"
/* KVM's, for guests on x86. */
#define STEAL_VARIABLE "steal_time"
#define QUEUE_VARIABLE "runqueues"
/* Where a thread ends, in the middle of the code that does it. */
#define THREAD_END "sched_process_exit"
/* Where threads are switched. */
#define SWITCH "sched_switch"

/* Ten numbers of 64 bits. */
#define STAT_ROOM 256

/* A tracepoint and its program; the end of what another begins comes before it. */
struct source {
	const char *name;
	size_t program;
	uint8_t part; /* of enum execution_part; what is needed for it */
	bool is_needed;
	bool is_of_softirqs;
};

#define INTERRUPT(name, needed)                                                                    \
	{name "_exit", PROGRAM_PART_INTERRUPT_END, PART_INTERRUPTED, needed, false},               \
	{                                                                                          \
		name "_entry", PROGRAM_PART_INTERRUPT, PART_INTERRUPTED, needed, false             \
	}

static const struct source sources[] = {
    {SWITCH, PROGRAM_PART_SWITCH, PART_SWITCHED, true, false},
    {THREAD_END, PROGRAM_PART_EXIT, 0, false, false},
    {"sched_process_exec", PROGRAM_PART_EXEC, 0, false, false},
    {"task_newtask", PROGRAM_PART_NEW, 0, false, false},
    INTERRUPT("irq_handler", true),
    /* Of x86, */
    INTERRUPT("local_timer", false),
    INTERRUPT("reschedule", false),
    INTERRUPT("call_function", false),
    INTERRUPT("call_function_single", false),
    INTERRUPT("irq_work", false),
    /* and of arm64. */
    INTERRUPT("ipi", false),
    /* Where threads run them they may lose the CPU within: a level would be another thread's. */
    {"softirq_exit", PROGRAM_PART_INTERRUPT_END, PART_INTERRUPTED, false, true},
    {"softirq_entry", PROGRAM_PART_INTERRUPT, PART_INTERRUPTED, false, true},
    {"contention_end", PROGRAM_PART_LOCK_END, PART_LOCK, true, false},
    {"contention_begin", PROGRAM_PART_LOCK, PART_LOCK, true, false},
    {"page_fault_kernel", PROGRAM_PART_FAULT, PART_FAULT, false, false},
    {"page_fault_user", PROGRAM_PART_FAULT, PART_FAULT, true, false},
};

/* Attached behind the programs of the section. */
static const struct source last = {SWITCH, PROGRAM_PART_DEAD, 0, false, false};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))
#define LAST	SOURCES
_Static_assert(LAST < PART_LINKS, "one each");

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void parts_init(struct section_part_links *parts)
{
	parts->observed = 0;
	memset(parts->programs, -1, sizeof(parts->programs));
	memset(parts->links, -1, sizeof(parts->links));
	parts->counts_handled = false;
	faults_init(&parts->faults);
}

bool parts_find_steal(__s64 *from_queue)
{
	struct kernel_name names[] = {{"", STEAL_VARIABLE, BTF_KIND_VAR, 0, 0, NULL},
				      {"", QUEUE_VARIABLE, BTF_KIND_VAR, 0, 0, NULL}};
	unsigned long long steal = 0;
	char line[STAT_ROOM];

	/* proc(5): user nice system idle iowait irq softirq steal */
	if (!small_file_line(AT_FDCWD, STAT, line, sizeof(line)) ||
	    sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1 || !steal ||
	    !bpf_reads_kernel() || kernel_btf_find(names, 2) || !names[0].offset ||
	    !names[1].offset)
		return false;
	*from_queue = (__s64)names[0].offset - names[1].offset;
	return true;
}

/* load - load the program of a source for itself: a typed one belongs to its tracepoint */
static int load(const struct source *source, const struct bpf_fds *fds)
{
	const struct bpf_program *program = &programs[source->program];
	struct bpf_load_as as = {BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0};
	struct kernel_name name = {"btf_trace_", source->name, BTF_KIND_TYPEDEF, 0, 0, NULL};

	if (program->kind == KIND_TYPED) {
		if (kernel_btf_find(&name, 1) || !name.id)
			return -1;
		as = (struct bpf_load_as){BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, name.id};
	}
	return bpf_program_load(program, fds, &as, NULL, 0);
}

/* is_switch - whether a place is where threads are switched */
static bool is_switch(const char *place)
{
	const char *colon = strchr(place, ':');

	return !strcmp(colon ? colon + 1 : place, SWITCH);
}

bool parts_at_switch(const struct section_plan *plan)
{
	return plan->kind == SECTION_TRACEPOINTS &&
	       (is_switch(plan->begin) || is_switch(plan->end));
}

/* is_wanted - whether what a source tells is of use; sees_switches: of threads */
static bool is_wanted(const struct source *source, const struct section_plan *plan,
		      bool sees_switches)
{
	/* Of two places in the kernel the second may come later, up to the thread's last switch. */
	if (!strcmp(source->name, THREAD_END))
		return plan->kind == SECTION_USER || !*plan->end || !sees_switches;
	return !source->is_of_softirqs || small_file_number(AT_FDCWD, REALTIME, "") != 1;
}

void parts_load(struct section_part_links *parts, const struct bpf_fds *fds,
		const struct section_plan *plan)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (is_wanted(&sources[i], plan, parts->programs[0] >= 0))
			parts->programs[i] = load(&sources[i], fds);
	if (parts_at_switch(plan))
		parts->programs[LAST] = load(&last, fds);
	/* What handles a fault is no fault itself. */
	if (plan->kind != SECTION_FUNCTION || strcmp(plan->begin, FAULT_FUNCTION))
		faults_load(&parts->faults, fds);
}

static int attach(int program, const struct source *source)
{
	/* A typed program has its tracepoint. */
	bool has_place = programs[source->program].kind == KIND_TYPED;

	return bpf_tracepoint_attach(program, has_place ? NULL : source->name);
}

void parts_attach(struct section_part_links *parts, const struct bpf_fds *fds)
{
	uint8_t missing = 0;

	parts->observed = 0;
	for (size_t i = 0; i < SOURCES; i++) {
		/* An entry without its exit would never end. */
		bool is_alone =
		    i && sources[i].program == PROGRAM_PART_INTERRUPT && parts->links[i - 1] < 0;

		if (parts->programs[i] >= 0 && !is_alone)
			parts->links[i] = attach(parts->programs[i], &sources[i]);
		if (parts->links[i] >= 0)
			parts->observed |= sources[i].part;
		else if (sources[i].is_needed)
			missing |= sources[i].part;
	}
	parts->observed &= (uint8_t)~missing;
	parts->counts_handled = false;
	if (faults_attach(&parts->faults, fds)) {
		/* Of arm64 there is no tracepoint. */
		parts->counts_handled = !(parts->observed & PART_FAULT);
		parts->observed |= PART_FAULT | PART_FAULT_TIME;
	}
}

void parts_attach_last(struct section_part_links *parts)
{
	if (parts->programs[LAST] >= 0)
		parts->links[LAST] = attach(parts->programs[LAST], &last);
}

void parts_detach(struct section_part_links *parts)
{
	/* Entries before exits. */
	for (size_t i = PART_LINKS; i-- > 0;)
		close_fd(&parts->links[i]);
	faults_detach(&parts->faults);
}

void parts_unload(struct section_part_links *parts)
{
	parts_detach(parts);
	for (size_t i = 0; i < PART_LINKS; i++)
		close_fd(&parts->programs[i]);
	faults_unload(&parts->faults);
}
