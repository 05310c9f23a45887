// SPDX-License-Identifier: MIT
/*
 * The BPF engine of the flight recorder: programs at tracepoints write into memory that is mapped
 * here. The probe does nothing meanwhile, and copies nothing.
 *
 * The kernel keeps all of it by descriptors, which end with the probe. The engine needs the
 * kernel's BTF, and CO-RE in the kernel (5.18).
 */
#include "bpf/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/layout.h"
#include "bpf_attach.h"
#include "bpf_hooks.h"
#include "bpf_maps.h"
#include "bpf_sources.h"
#include "clock.h"
#include "engine.h"
#include "failure.h"
#include "bpf/kernel_btf.h"
#include "small_file.h"

#define LOG_SIZE (64u << 10)
/* What is looked up in the kernel's BTF beside the tracepoints: see find_names(). */
#define OTHER_NAMES 8

/* refused - fill in why the kernel may have refused; returns error */
static int refused(char *text, int error, const char *what)
{
	char lockdown[64];

	if (error == EPERM && geteuid() != 0)
		return fail(text, error, "%s: BPF needs root, or CAP_BPF and CAP_PERFMON", what);
	if (error == EPERM) {
		small_file_line(AT_FDCWD, "/sys/kernel/security/lockdown", lockdown,
				sizeof(lockdown));
		return fail(text, error, "%s: not permitted%s%s", what,
			    lockdown[0] ? "; lockdown: " : "", lockdown);
	}
	if (error == ENOSYS)
		return fail(text, error, "this kernel has no BPF (CONFIG_BPF_SYSCALL)");
	if (error == E2BIG)
		return fail(text, error, "%s: this kernel's BPF is too old; 5.18 is needed", what);
	return fail(text, error, "%s: %s", what, strerror(error));
}

static bool cpu_is_there(uint16_t cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u", cpu);
	return !access(path, F_OK);
}

/* share - let the reader find the rings, and the programs the measured threads */
static int share(struct recorder *recorder, const struct recorder_plan *plan, uint64_t events)
{
	struct bpf_engine *engine = recorder->state;

	recorder->cpu_limit = plan->cpu_limit;
	recorder->ring_size = events;
	recorder->cpus = calloc(plan->cpu_limit, sizeof(*recorder->cpus));
	recorder->events = calloc(plan->cpu_limit, sizeof(*recorder->events));
	if (!recorder->cpus || !recorder->events)
		return ENOMEM;
	for (uint16_t i = 0; i < plan->cpu_limit; i++) {
		struct recorder_bpf_cpu *cpu = bpf_cpu_at(engine, i);

		if (!cpu_is_there(i))
			continue;
		recorder->cpus[i] = &cpu->shared;
		recorder->events[i] = (void *)(cpu + 1);
	}
	for (size_t i = 0; i < plan->thread_count; i++)
		if (plan->threads[i].cpu < plan->cpu_limit)
			bpf_cpu_at(engine, plan->threads[i].cpu)->shared.measured =
			    plan->threads[i].pid;
	return 0;
}

/* find_names - look up the tracepoints in the kernel's BTF, and variables and functions of the
 * kernel */
static int find_names(struct recorder *recorder, struct kernel_name *names, char *text)
{
	struct bpf_engine *engine = recorder->state;
	struct kernel_name *bases = &names[bpf_program_count], *registers = bases + 1;
	struct kernel_name *from_pid = bases + 2, *release = bases + 3;
	struct kernel_name *raised = bases + 4, *lazy = bases + 5;
	struct kernel_name *tracepoint = bases + 6, *returns = bases + 7;
	int error;

	for (size_t i = 0; i < bpf_program_count; i++)
		names[i] = (struct kernel_name){
		    "btf_trace_", bpf_programs[i].tracepoint, BTF_KIND_TYPEDEF, 0, 0, NULL};
	*bases = (struct kernel_name){"", "hrtimer_bases", BTF_KIND_VAR, 0, 0, NULL};
	*registers = (struct kernel_name){"", "__irq_regs", BTF_KIND_VAR, 0, 0, NULL};
	*from_pid = (struct kernel_name){"", "bpf_task_from_pid", BTF_KIND_FUNC, 0, 0, NULL};
	*release = (struct kernel_name){"", "bpf_task_release", BTF_KIND_FUNC, 0, 0, NULL};
	*raised = (struct kernel_name){"", "raised_list", BTF_KIND_VAR, 0, 0, NULL};
	*lazy = (struct kernel_name){"", "lazy_list", BTF_KIND_VAR, 0, 0, NULL};
	*returns = (struct kernel_name){"", "return_notifier_list", BTF_KIND_VAR, 0, 0, NULL};
	*tracepoint = (struct kernel_name){"", "tracepoint", BTF_KIND_STRUCT, 0, 0, "funcs"};
	error = kernel_btf_find(names, bpf_program_count + OTHER_NAMES);
	if (error == ENOENT)
		return fail(text, error, "this kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (error)
		return fail(text, error, "/sys/kernel/btf/vmlinux: %s", strerror(error));
	if (bases->offset && registers->offset)
		engine->config.registers_at = (int64_t)registers->offset - bases->offset;
	engine->fds.task_from_pid = from_pid->id;
	engine->fds.task_release = release->id;
	engine->config.finds_tasks =
	    bpf_finds_tasks(&engine->fds, names[bpf_sources[bpf_source_count - 1].program].id);
	/* Without them no program may have a call of theirs, not even one that is never made. */
	if (!engine->config.finds_tasks)
		engine->fds.task_from_pid = engine->fds.task_release = 0;
	engine->fds.at[AT_RAISED] = (int)raised->id;
	engine->fds.at[AT_LAZY] = (int)lazy->id;
	engine->config.shows_irq_work = engine->config.reads_kernel && raised->id && lazy->id;
	engine->fds.at[AT_RETURN] = (int)returns->id;
	engine->config.shows_returns = engine->config.reads_kernel && returns->id;
	bpf_hooks_find(recorder, tracepoint->offset);
	return 0;
}

static const struct bpf_load_as load_as[] = {
    [KIND_UNTYPED] = {BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0},
    [KIND_TYPED] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0},
    [KIND_PROBE] = {BPF_PROG_TYPE_KPROBE, 0, 0},
};

/* load_programs - load each program; errors[]: why the kernel refused it, or 0 */
static void load_programs(const struct recorder *recorder, const struct kernel_name *names,
			  int *errors, char *text)
{
	struct bpf_engine *engine = recorder->state;
	char *log = malloc(LOG_SIZE);

	if (log)
		log[0] = '\0';
	for (size_t i = 0; i < bpf_program_count; i++) {
		const struct bpf_program *program = &bpf_programs[i];
		struct bpf_load_as as = load_as[program->kind];
		int *fd = &engine->programs[i];

		if ((program->kind == KIND_TYPED && !names[i].id) ||
		    (program->kind == KIND_PROBE && !recorder->hook_count)) {
			errors[i] = ENOENT;
			continue;
		}
		as.id = program->kind == KIND_TYPED ? names[i].id : 0;
		*fd = bpf_program_load(program, &engine->fds, &as, log, LOG_SIZE);
		if (*fd >= 0)
			continue;
		errors[i] = errno;
		if (*fd < 0 && (errno == EAGAIN || errno == EINTR))
			fail(text, 0,
			     "%s: signals, or a freezer, interrupted the kernel's check of it",
			     program->name);
		if (!text[0] && log && log[0])
			fail(text, 0, "%s: %s", program->name, bpf_log_reason(log));
	}
	free(log);
}

/* attach_all - attach all that were loaded; returns the errno of one that is needed */
static int attach_all(struct recorder *recorder, const int *errors, char *text)
{
	struct bpf_engine *engine = recorder->state;
	bool before = false;

	for (size_t i = 0; i < bpf_source_count; i++) {
		const struct bpf_source *wanted = &bpf_sources[i];
		struct recorder_source *source = &recorder->sources[recorder->source_count];
		int error = errors[wanted->program];

		if (wanted->is_fallback && before)
			continue;
		/* Another program for one tracepoint: what became of that one counts. */
		if (wanted->is_fallback && strcmp(wanted->name, source[-1].name) == 0)
			source--;
		else
			recorder->source_count++;
		*source = (struct recorder_source){wanted->name, false, error};
		if (!error) {
			engine->links[i] = bpf_attach(engine, wanted);
			source->attached = engine->links[i] >= 0;
			source->error = source->attached ? 0 : errno;
		}
		before = source->attached;
		if (!wanted->is_needed || source->attached)
			continue;
		if (source->error == EPERM || !text[0])
			return refused(text, source->error, wanted->name);
		return source->error;
	}
	bpf_hooks_attach(recorder);
	text[0] = '\0';
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void bpf_stop(struct recorder *recorder)
{
	struct bpf_engine *engine = recorder->state;

	if (engine) {
		for (size_t i = 0; i < RECORDER_SOURCES; i++)
			close_fd(engine->links[i]);
		bpf_hooks_close(engine);
		for (size_t i = 0; i < PROGRAMS_MOST; i++)
			close_fd(engine->programs[i]);
		if (engine->memory)
			munmap(engine->memory, engine->memory_size);
		close_fd(engine->stats_fd);
		close_fd(engine->fds.at[AT_CONFIG]);
		close_fd(engine->fds.at[AT_WOKEN]);
		close_fd(engine->fds.at[AT_LEFT]);
		close_fd(engine->fds.at[AT_CPUS]);
		close_fd(engine->fds.btf_fd);
	}
	free(recorder->cpus);
	free(recorder->events);
	free(engine);
	memset(recorder, 0, sizeof(*recorder));
}

/* bpf_measure - let the kernel measure every run of every program while stats_fd is open */
static int bpf_measure(struct recorder *recorder, bool on)
{
	struct bpf_engine *engine = recorder->state;
	union bpf_attr arguments;

	close_fd(engine->stats_fd);
	engine->stats_fd = -1;
	if (!on)
		return 0;
	memset(&arguments, 0, sizeof(arguments));
	arguments.enable_stats.type = BPF_STATS_RUN_TIME;
	engine->stats_fd = (int)bpf_call(BPF_ENABLE_STATS, &arguments, sizeof(arguments));
	return engine->stats_fd < 0 ? errno : 0;
}

static int begin(struct recorder *recorder, const struct recorder_plan *plan, char *text)
{
	struct bpf_engine *engine = recorder->state;
	struct kernel_name names[PROGRAMS_MOST + OTHER_NAMES] = {0};
	int errors[PROGRAMS_MOST] = {0};
	uint64_t events;
	int error = bpf_load_types(engine);

	if (error)
		return refused(text, error, "BTF");
	error = bpf_create_rings(engine, plan, &events);
	if (error)
		return refused(text, error, "rings");
	engine->config = (struct recorder_config){
	    .ring_mask = events - 1,
	    .stack_after_ns = plan->stack_after_ns,
	    .reads_kernel = bpf_reads_kernel(),
	};
	if (plan->watch) {
		engine->config.watch_pid = plan->watch->pid;
		if (!plan->watch->pid)
			memcpy(engine->config.watch_comm, plan->watch->comm,
			       sizeof(plan->watch->comm));
	}
	error = find_names(recorder, names, text);
	if (error)
		return error;
	error = bpf_create_config(engine);
	if (error)
		return refused(text, error, "configuration");
	error = bpf_create_tables(engine);
	if (error)
		return refused(text, error, "tables of threads");
	error = share(recorder, plan, events);
	if (error)
		return refused(text, error, "rings");
	load_programs(recorder, names, errors, text);
	if (plan->measure_cost)
		bpf_measure(recorder, true);
	return attach_all(recorder, errors, text);
}

static int bpf_start(struct recorder *recorder, const struct recorder_plan *plan, char *text)
{
	struct bpf_engine *engine = calloc(1, sizeof(*engine));
	int error;

	text[0] = '\0';
	memset(recorder, 0, sizeof(*recorder));
	if (!engine)
		return refused(text, ENOMEM, "BPF engine");
	engine->fds = (struct bpf_fds){
	    .btf_fd = -1,
	    .at = {[AT_CPUS] = -1, [AT_CONFIG] = -1, [AT_WOKEN] = -1, [AT_LEFT] = -1}};
	engine->stats_fd = -1;
	memset(engine->programs, -1, sizeof(engine->programs));
	memset(engine->links, -1, sizeof(engine->links));
	memset(engine->hook_links, -1, sizeof(engine->hook_links));
	recorder->state = engine;
	recorder->engine = &recorder_bpf;
	error = begin(recorder, plan, text);
	if (error)
		bpf_stop(recorder);
	return error;
}

/* The programs write to the rings themselves. */
static void bpf_gather(struct recorder *recorder)
{
	recorder->gathered_ns = clock_ns();
}

static void bpf_freeze(struct recorder *recorder)
{
	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i])
			__atomic_store_n(&recorder->cpus[i]->frozen, 1, __ATOMIC_RELAXED);
}

static void bpf_cost(struct recorder *recorder, struct recorder_cost *cost)
{
	struct bpf_engine *engine = recorder->state;

	memset(cost, 0, sizeof(*cost));
	for (size_t i = 0; i < bpf_program_count; i++) {
		struct bpf_prog_info info;

		if (!bpf_program_info(engine->programs[i], &info))
			continue;
		cost->runs += info.run_cnt;
		cost->run_ns += info.run_time_ns;
		cost->missed += info.recursion_misses;
	}
}

const struct recorder_engine recorder_bpf = {
    .name = "bpf",
    .start = bpf_start,
    .gather = bpf_gather,
    .freeze = bpf_freeze,
    .cost = bpf_cost,
    .measure = bpf_measure,
    .detach = bpf_detach,
    .stop = bpf_stop,
};
