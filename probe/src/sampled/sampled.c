// SPDX-License-Identifier: MIT
#include "sampled.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/map.h"
#include "clock.h"
#include "failure.h"
#include "preempt_count.h"
#include "sampled/bpf/programs.h"
#include "thread.h"

/* Samples of each CPU that are looked at before the run; */
#define TRY_PERIODS 200u
#define TRY_SAMPLES 1024u
/* fewer say nothing of a CPU. */
#define TRY_FEWEST 16u
/* A sample that is later than this part of a period is late, */
#define LIMIT_PART 4u
/* or than so many times what nine of ten have, where that is more. */
#define LIMIT_TIMES 2u
/* What is timed with samples and without, by turns: for so many periods, and no longer. */
#define WORK_PERIODS 20u
#define WORK_MOST_NS (10 * NS_PER_MS)
#define WORK_TURNS   25u

#if defined(__aarch64__) || defined(__x86_64__) || defined(__riscv)
#define HAS_PROGRAM true
#else
#define HAS_PROGRAM false
#endif

int sampled_events(const struct sampled *sampled)
{
	return sampled->fds.at[AT_OFF_EVENTS];
}

struct sampled_cpu *sampled_cpu_of(const struct sampled *sampled, size_t place)
{
	size_t cpu = wire_list_u16(sampled->plan.cpus, place);

	return (struct sampled_cpu *)((char *)sampled->memory + cpu * sampled->element);
}

/* ---------------------------------------------------------------- opening */

static int make_maps(struct sampled *sampled)
{
	struct sampled_config config = {.period_ns = sampled->plan.period_ns,
					.machine = SAMPLED_MACHINE,
					.counters = sampled->plan.counters};
	int *at = sampled->fds.at;

	sampled->fds.btf_fd = bpf_types_load(program_btf, PROGRAM_BTF_SIZE);
	if (sampled->fds.btf_fd < 0)
		return errno;
	sampled->element = sizeof(struct sampled_cpu);
	at[AT_SAMPLED_CPUS] = bpf_map_mapped("wl_sampled_cpus", sampled->element,
					     wire_list_most_u16(sampled->plan.cpus) + 1u,
					     &sampled->memory, &sampled->size);
	if (at[AT_SAMPLED_CPUS] < 0)
		return errno;
	at[AT_OFF_EVENTS] =
	    bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "wl_off_events", sizeof(uint32_t),
			   WIRE_MOST_OFF_COUNTS * (wire_list_most_u16(sampled->plan.cpus) + 1u), 0);
	if (at[AT_OFF_EVENTS] < 0)
		return errno;
	at[AT_SAMPLED_CONFIG] = bpf_map_constants("wl_sampled_conf", &config, sizeof(config));
	return at[AT_SAMPLED_CONFIG] < 0 ? errno : 0;
}

static int open_program(struct sampled *sampled, char *text)
{
	const struct bpf_load_as as = {.type = BPF_PROG_TYPE_PERF_EVENT};
	const struct bpf_load_as as_traced = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	static char log[65536];
	int error, expiry = -1;

	if (!HAS_PROGRAM)
		return fail(text, EOPNOTSUPP,
			    "programs that sample are for x86-64, arm64 and riscv64");
	error = make_maps(sampled);
	if (error)
		return fail(text, error,
			    "samples cannot be kept here: BPF is refused (%s); it takes root and "
			    "CONFIG_BPF_SYSCALL",
			    strerror(error));
	sampled->program =
	    bpf_program_load(&programs[PROGRAM_SAMPLE], &sampled->fds, &as, log, sizeof(log));
	if (sampled->program >= 0)
		expiry = bpf_program_load(&programs[PROGRAM_EXPIRY], &sampled->fds, &as_traced, log,
					  sizeof(log));
	if (expiry < 0)
		return fail(text, errno,
			    "this kernel refuses the program of the samples: %s: %.120s",
			    strerror(errno), bpf_log_reason(log));
	sampled->traced = bpf_tracepoint_attach(expiry, "hrtimer_expire_entry");
	error = sampled->traced < 0 ? errno : 0;
	close(expiry);
	if (error)
		return fail(text, error, "when a sample was due is not known here: %s",
			    strerror(error));
	return 0;
}

static int open_event(struct sampled *sampled, size_t place)
{
	uint16_t cpu = wire_list_u16(sampled->plan.cpus, place);
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = sampled->plan.period_ns,
	    .disabled = 1,
	    /* The kernel stops the timer after some hundred samples without a tick of its own,
	     * which an idle CPU has not; those that it leaves out do not count. */
	    .exclude_idle = 1,
	};
	long fd;

	if (sampled->has_rings)
		return perf_rings_event(&sampled->rings, place, cpu, sampled->plan.period_ns);
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!ioctl((int)fd, PERF_EVENT_IOC_SET_BPF, sampled->program))
		return (int)fd;
	close((int)fd);
	return -1;
}

/* open_counts - find where the kernel counts what disables preemption; returns 0, or an errno with
 * the text */
static int open_counts(struct sampled *sampled, char *text)
{
	struct preempt_counts counts;
	int error = preempt_counts_find(&counts, text);

	for (size_t i = 0; !error && i < sampled->plan.cpus.count; i++) {
		uint64_t address;

		if (!preempt_counts_address(&counts, wire_list_u16(sampled->plan.cpus, i),
					    &address))
			error = fail(text, EACCES,
				     "the kernel's count of what disables preemption cannot be "
				     "read");
		else
			sampled_cpu_of(sampled, i)->count_address = address;
	}
	preempt_counts_close(&counts);
	return error;
}

/* open_rings - sample without a program, for which the reason is in the text; returns 0, or an
 * errno with the text, which has both */
static int open_rings(struct sampled *sampled, char *text)
{
	const struct sampled_plan *plan = &sampled->plan;
	char why[FAILURE_TEXT], reason[FAILURE_TEXT];
	int error;

	memcpy(why, text, sizeof(why));
	if (plan->what == OFF_PREEMPTION)
		return fail(text, EOPNOTSUPP, "%.300s; without BPF the kernel's count is not read",
			    why);
	if (plan->counters)
		return fail(text, EOPNOTSUPP, "%.300s; without BPF there are no counters", why);
	if (sampled->memory)
		munmap(sampled->memory, sampled->size);
	sampled->element = sizeof(struct sampled_cpu);
	sampled->size = sampled->element * (wire_list_most_u16(plan->cpus) + 1u);
	sampled->memory =
	    mmap(NULL, sampled->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sampled->memory == MAP_FAILED) {
		sampled->memory = NULL;
		return fail(text, ENOMEM, "no memory for samples");
	}
	sampled->has_rings = true;
	error = perf_rings_open(&sampled->rings, plan->cpus.count, plan->period_ns, SAMPLED_MACHINE,
				reason);
	return error ? fail(text, error, "%.300s; and without it: %.150s", why, reason) : 0;
}

int sampled_open(struct sampled *sampled, const struct sampled_plan *plan, char *text)
{
	size_t count = plan->cpus.count;
	int error;

	*sampled = (struct sampled){
	    .plan = *plan, .program = -1, .traced = -1, .rings = {.code = {.peek = -1, .fd = -1}}};
	for (size_t i = 0; i < PLACES_MOST; i++)
		sampled->fds.at[i] = -1;
	sampled->fds.btf_fd = -1;
	sampled->events = calloc(count, sizeof(*sampled->events));
	sampled->usual = calloc(count, sizeof(*sampled->usual));
	if (!sampled->events || !sampled->usual)
		return fail(text, ENOMEM, "no memory for %zu CPUs", count);
	for (size_t i = 0; i < count; i++)
		sampled->events[i] = -1;
	error = open_program(sampled, text);
	if (error)
		error = open_rings(sampled, text);
	for (size_t i = 0; !error && i < count; i++) {
		sampled->events[i] = open_event(sampled, i);
		if (sampled->events[i] < 0)
			error = fail(text, errno, "CPU %u cannot be sampled by a timer: %s",
				     wire_list_u16(plan->cpus, i), strerror(errno));
	}
	if (!error && plan->what == OFF_PREEMPTION)
		error = open_counts(sampled, text);
	return error;
}

static void enable(const struct sampled *sampled, bool on)
{
	for (size_t i = 0; i < sampled->plan.cpus.count; i++)
		ioctl(sampled->events[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* ---------------------------------------------------------------- before the run */

static int compare(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

/* work - make so many steps in the program; returns how long it took */
static uint64_t work(uint64_t steps)
{
	uint64_t start_ns = clock_ns();
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < steps; i++)
		sum = sum + i;
	return clock_ns() - start_ns;
}

/* measure_cost - time the same work on the first CPU with samples and without, by turns: the
 * quickest of each, with which nothing else interfered. It is not known where the probe may not run
 * there. */
static void measure_cost(struct sampled *sampled)
{
	uint64_t least_ns[2] = {UINT64_MAX, UINT64_MAX}, steps = 1 << 10;
	uint64_t wanted_ns = WORK_PERIODS * sampled->plan.period_ns;
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) ||
	    thread_pin(wire_list_u16(sampled->plan.cpus, 0)))
		return;
	if (wanted_ns > WORK_MOST_NS)
		wanted_ns = WORK_MOST_NS;
	while (work(steps) < wanted_ns && steps < (uint64_t)1 << 40)
		steps *= 2;
	sampled_cpu_of(sampled, 0)->purpose = SAMPLED_INTERRUPTS;
	sampled_cpu_of(sampled, 0)->limit_ns = UINT64_MAX;
	for (size_t i = 0; i < 2 * WORK_TURNS; i++) {
		bool with = i % 2;
		uint64_t took_ns;

		if (with)
			ioctl(sampled->events[0], PERF_EVENT_IOC_ENABLE, 0);
		took_ns = work(steps);
		if (with)
			ioctl(sampled->events[0], PERF_EVENT_IOC_DISABLE, 0);
		if (took_ns < least_ns[with])
			least_ns[with] = took_ns;
	}
	sampled->usual[0].without_ns = least_ns[0];
	sampled->usual[0].with_ns = least_ns[1];
	sched_setaffinity(0, sizeof(before), &before);
}

/* What came of the samples of a CPU before the run. */
struct calibration {
	size_t count;
	uint64_t late_ns[TRY_SAMPLES];
	uint32_t base; /* the count of what disables preemption in a program, or the smallest */
	bool has_base; /* it is of a program */
};

static void read_calibration(struct sampled *sampled, size_t place, struct calibration *calibration)
{
	struct sampled_row row;

	while (sampled_next(sampled, place, &row)) {
		bool is_user = row.flags & SAMPLED_USER;

		if (is_user ? !calibration->has_base
			    : !calibration->has_base && row.count < calibration->base)
			calibration->base = row.count;
		calibration->has_base |= is_user;
		if (calibration->count < TRY_SAMPLES)
			calibration->late_ns[calibration->count++] = row.late_ns;
	}
}

/* end_calibration - choose what is late on a CPU; an idle one has few samples, and a limit of its
 * own */
static void end_calibration(struct sampled *sampled, size_t place, struct calibration *calibration)
{
	struct sampled_usual *usual = &sampled->usual[place];
	struct sampled_cpu *cpu = sampled_cpu_of(sampled, place);
	uint64_t nine_of_ten_ns;

	qsort(calibration->late_ns, calibration->count, sizeof(calibration->late_ns[0]), compare);
	usual->limit_ns = sampled->plan.period_ns / LIMIT_PART;
	if (calibration->count >= TRY_FEWEST) {
		usual->usual_ns = calibration->late_ns[calibration->count / 2];
		nine_of_ten_ns = calibration->late_ns[calibration->count * 9 / 10];
		if (LIMIT_TIMES * nine_of_ten_ns > usual->limit_ns)
			usual->limit_ns = LIMIT_TIMES * nine_of_ten_ns;
	}
	cpu->limit_ns = usual->limit_ns;
	cpu->count_base = calibration->base;
	cpu->samples = cpu->lost = 0;
	cpu->purpose =
	    sampled->plan.what == OFF_PREEMPTION ? SAMPLED_PREEMPTION : SAMPLED_INTERRUPTS;
}

/* work_everywhere - run a program on each CPU for a moment: an idle one has no samples */
static void work_everywhere(struct sampled *sampled, uint64_t ns)
{
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (size_t i = 0; i < sampled->plan.cpus.count; i++)
		if (!thread_pin(wire_list_u16(sampled->plan.cpus, i)))
			for (uint64_t until_ns = clock_ns() + ns; clock_ns() < until_ns;)
				work(64);
	sched_setaffinity(0, sizeof(before), &before);
}

int sampled_start(struct sampled *sampled, char *text)
{
	size_t count = sampled->plan.cpus.count;
	struct calibration *calibrations = calloc(count, sizeof(*calibrations));

	if (!calibrations)
		return fail(text, ENOMEM, "no memory for %zu CPUs", count);
	measure_cost(sampled);
	for (size_t i = 0; i < count; i++) {
		struct sampled_cpu *cpu = sampled_cpu_of(sampled, i);

		calibrations[i].base = UINT32_MAX;
		cpu->purpose = SAMPLED_CALIBRATE;
	}
	if (sampled->has_rings)
		perf_rings_restart(&sampled->rings);
	enable(sampled, true);
	work_everywhere(sampled, TRY_PERIODS * sampled->plan.period_ns);
	for (size_t i = 0; i < count; i++) {
		read_calibration(sampled, i, &calibrations[i]);
		end_calibration(sampled, i, &calibrations[i]);
	}
	free(calibrations);
	return 0;
}

/* ---------------------------------------------------------------- during the run */

bool sampled_next(struct sampled *sampled, size_t place, struct sampled_row *row)
{
	struct sampled_cpu *cpu = sampled_cpu_of(sampled, place);
	const struct sampled_row *at = &cpu->rows[cpu->read % SAMPLED_ROWS];

	if (sampled->has_rings && at->number != cpu->read + 1)
		perf_rings_gather(&sampled->rings, place, cpu);
	if (__atomic_load_n(&at->number, __ATOMIC_ACQUIRE) != cpu->read + 1)
		return false;
	*row = *at;
	/* Its place is free once it was read. */
	__atomic_store_n(&cpu->read, cpu->read + 1, __ATOMIC_RELEASE);
	return true;
}

void sampled_stop(struct sampled *sampled)
{
	enable(sampled, false);
}

void sampled_close(struct sampled *sampled)
{
	for (size_t i = 0; sampled->events && i < sampled->plan.cpus.count; i++)
		if (sampled->events[i] >= 0)
			close(sampled->events[i]);
	if (sampled->has_rings)
		perf_rings_close(&sampled->rings);
	if (sampled->memory)
		munmap(sampled->memory, sampled->size);
	for (size_t i = 0; i < PLACES_MOST; i++)
		if (sampled->fds.at[i] >= 0)
			close(sampled->fds.at[i]);
	if (sampled->fds.btf_fd >= 0)
		close(sampled->fds.btf_fd);
	if (sampled->program >= 0)
		close(sampled->program);
	if (sampled->traced >= 0)
		close(sampled->traced);
	free(sampled->events);
	free(sampled->usual);
	*sampled = (struct sampled){
	    .program = -1, .traced = -1, .rings = {.code = {.peek = -1, .fd = -1}}};
}
