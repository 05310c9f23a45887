// SPDX-License-Identifier: MIT
#include "traced.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/map.h"
#include "clock.h"
#include "failure.h"
#include "thread.h"
#include "traced/bpf/programs.h"

/* A piece of work is a call of the kernel, in which interrupts are disabled some times: so many
 * calls, and so many pieces each with the programs and without, by turns. */
#define WORK_CALLS 2000u
#define WORK_TURNS 15u

/* The tracepoints, and the programs there, by what is disabled; the last is for preemption alone.
 */
static const struct {
	const char *tracepoint;
	size_t program;
} places[][TRACED_PROGRAMS] = {
    [OFF_INTERRUPTS] = {{"irq_disable", PROGRAM_DISABLED}, {"irq_enable", PROGRAM_ENABLED}},
    [OFF_PREEMPTION] = {{"preempt_disable", PROGRAM_DISABLED},
			{"preempt_enable", PROGRAM_ENABLED},
			{"sched_switch", PROGRAM_SWITCHED}},
};

int traced_events(const struct traced *traced)
{
	return traced->fds.at[AT_OFF_EVENTS];
}

struct traced_cpu *traced_cpu_of(const struct traced *traced, size_t place)
{
	size_t cpu = wire_list_u16(traced->plan.cpus, place);

	return (struct traced_cpu *)((char *)traced->memory + cpu * traced->element);
}

static int make_maps(struct traced *traced)
{
	struct traced_config config = {.keep_ns = traced->plan.keep_ns,
				       .counters = traced->plan.counters};
	int *at = traced->fds.at;

	traced->fds.btf_fd = bpf_types_load(program_btf, PROGRAM_BTF_SIZE);
	if (traced->fds.btf_fd < 0)
		return errno;
	traced->element = sizeof(struct traced_cpu);
	at[AT_TRACED_CPUS] = bpf_map_mapped("wl_traced_cpus", traced->element,
					    wire_list_most_u16(traced->plan.cpus) + 1u,
					    &traced->memory, &traced->size);
	if (at[AT_TRACED_CPUS] < 0)
		return errno;
	at[AT_OFF_EVENTS] =
	    bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "wl_off_events", sizeof(uint32_t),
			   WIRE_MOST_OFF_COUNTS * (wire_list_most_u16(traced->plan.cpus) + 1u), 0);
	if (at[AT_OFF_EVENTS] < 0)
		return errno;
	at[AT_TRACED_CONFIG] = bpf_map_constants("wl_traced_conf", &config, sizeof(config));
	return at[AT_TRACED_CONFIG] < 0 ? errno : 0;
}

/* attach - run one of the programs at its tracepoint; returns 0, or an errno with the text */
static int attach(struct traced *traced, size_t number, char *text)
{
	const struct bpf_load_as as = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	const char *name = places[traced->plan.what][number].tracepoint;
	static char log[65536];
	int program, error;

	program = bpf_program_load(&programs[places[traced->plan.what][number].program],
				   &traced->fds, &as, log, sizeof(log));
	if (program < 0)
		return fail(text, errno == ENOENT ? EINVAL : errno,
			    "this kernel refuses the program for %s: %s: %.120s", name,
			    strerror(errno), bpf_log_reason(log));
	traced->links[number] = bpf_tracepoint_attach(program, name);
	error = traced->links[number] < 0 ? errno : 0;
	close(program);
	if (error == ENOENT)
		return fail(text, error,
			    "this kernel has no tracepoint %s (CONFIG_PREEMPTIRQ_TRACEPOINTS)",
			    name);
	return error ? fail(text, error, "%s cannot be traced: %s", name, strerror(error)) : 0;
}

int traced_open(struct traced *traced, const struct traced_plan *plan, char *text)
{
	int error;

	*traced = (struct traced){.plan = *plan};
	for (size_t i = 0; i < TRACED_PROGRAMS; i++)
		traced->links[i] = -1;
	for (size_t i = 0; i < PLACES_MOST; i++)
		traced->fds.at[i] = -1;
	traced->fds.btf_fd = -1;
	error = make_maps(traced);
	if (error)
		return fail(text, error,
			    "tracepoints cannot be used here: BPF is refused (%s); it takes root "
			    "and CONFIG_BPF_SYSCALL",
			    strerror(error));
	for (size_t i = 0; !error && i < TRACED_PROGRAMS; i++)
		if (places[plan->what][i].tracepoint)
			error = attach(traced, i, text);
	return error;
}

static void look(const struct traced *traced, bool on)
{
	for (size_t i = 0; i < traced->plan.cpus.count; i++)
		__atomic_store_n(&traced_cpu_of(traced, i)->is_on, on, __ATOMIC_RELEASE);
}

/* work - call the kernel some times; returns how long it took */
static uint64_t work(void)
{
	uint64_t start_ns = clock_ns();

	for (size_t i = 0; i < WORK_CALLS; i++)
		syscall(SYS_getppid);
	return clock_ns() - start_ns;
}

/* measure_cost - time the same work on the first CPU with the programs at work and without, by
 * turns: the quickest of each, with which nothing else interfered */
static void measure_cost(struct traced *traced)
{
	struct traced_cpu *cpu = traced_cpu_of(traced, 0);
	uint64_t least_ns[2] = {UINT64_MAX, UINT64_MAX};
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) ||
	    thread_pin(wire_list_u16(traced->plan.cpus, 0)))
		return;
	for (size_t i = 0; i < 2 * WORK_TURNS; i++) {
		uint64_t stretches = cpu->stretches, took_ns;
		bool with = i % 2;

		__atomic_store_n(&cpu->is_on, with, __ATOMIC_RELEASE);
		took_ns = work();
		if (took_ns >= least_ns[with])
			continue;
		least_ns[with] = took_ns;
		if (with)
			traced->work = cpu->stretches - stretches;
	}
	traced->without_ns = least_ns[0];
	traced->with_ns = least_ns[1];
	sched_setaffinity(0, sizeof(before), &before);
}

/* forget - as if nothing had been seen of a CPU */
static void forget(struct traced_cpu *cpu)
{
	uint64_t number = cpu->written;

	memset(cpu, 0, sizeof(*cpu));
	cpu->written = cpu->read = number;
}

void traced_start(struct traced *traced)
{
	measure_cost(traced);
	look(traced, false);
	for (size_t i = 0; i < traced->plan.cpus.count; i++)
		forget(traced_cpu_of(traced, i));
	look(traced, true);
}

bool traced_next(struct traced *traced, size_t place, struct traced_row *row)
{
	struct traced_cpu *cpu = traced_cpu_of(traced, place);
	const struct traced_row *at = &cpu->rows[cpu->read % TRACED_ROWS];

	if (__atomic_load_n(&at->number, __ATOMIC_ACQUIRE) != cpu->read + 1)
		return false;
	*row = *at;
	/* Its place is free once it was read. */
	__atomic_store_n(&cpu->read, cpu->read + 1, __ATOMIC_RELEASE);
	return true;
}

void traced_stop(struct traced *traced)
{
	look(traced, false);
	/* A program that was at work on another CPU ends, so that its sums and bins agree. */
	clock_sleep_until(clock_ns() + NS_PER_MS);
}

void traced_close(struct traced *traced)
{
	for (size_t i = 0; i < TRACED_PROGRAMS; i++)
		if (traced->links[i] >= 0)
			close(traced->links[i]);
	if (traced->memory)
		munmap(traced->memory, traced->size);
	for (size_t i = 0; i < PLACES_MOST; i++)
		if (traced->fds.at[i] >= 0)
			close(traced->fds.at[i]);
	if (traced->fds.btf_fd >= 0)
		close(traced->fds.btf_fd);
	*traced = (struct traced){.links = {-1, -1, -1}};
}
