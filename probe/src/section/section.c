// SPDX-License-Identifier: MIT
#include "section.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/multi.h"
#include "section/bpf/programs.h"
#include "failure.h"
#include "hooks.h"
#include "tracing.h"
#include "wire/bins.h"

#define PAGE UINT64_C(4096)
/* linux/membarrier.h: the same number has another name before Linux 4.16. */
#define MEMBARRIER_EVERYWHERE 1
/* How long a program that was preempted is awaited: so often so long. */
#define SETTLE_NS   1000000
#define SETTLE_MOST 100
/* With fewer executions their median is not known. */
#define MEDIAN_LEAST 20u
/* Reasons why hooks were refused, one behind the other. */
#define REASONS_ROOM 600

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* mapped_size - how much of an array is mapped: its elements begin at multiples of 8, the whole is
 * a number of pages */
static size_t mapped_size(uint64_t element, uint32_t count)
{
	return (size_t)(((element + 7) / 8 * 8 * count + PAGE - 1) / PAGE * PAGE);
}

/* map_memory - create an array and map it; returns its descriptor, or -1 with errno */
static int map_memory(const char *name, uint64_t element, uint32_t count, void **memory)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, element, count, BPF_F_MMAPABLE);

	if (map < 0)
		return -1;
	*memory =
	    mmap(NULL, mapped_size(element, count), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (*memory != MAP_FAILED)
		return map;
	*memory = NULL;
	close(map);
	return -1;
}

/* make_paths - create a map of call paths, with which programs are linked in any case; returns its
 * descriptor, or -1 with errno */
static int make_paths(const struct section *section, bool is_kept, const char *name,
		      struct section_paths **paths)
{
	void *memory = NULL;
	int map;

	if (!is_kept)
		return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint64_t), 1, 0);
	map = map_memory(name, sizeof(struct section_paths), section->plan.cpu_limit, &memory);
	*paths = memory;
	return map;
}

/* unmap_paths - unmap what make_paths() mapped */
static void unmap_paths(const struct section *section, struct section_paths **paths)
{
	if (*paths)
		munmap(*paths, mapped_size(sizeof(**paths), section->plan.cpu_limit));
	*paths = NULL;
}

/* make_walk - create the map that is walked over, with which programs are linked in any case */
static int make_walk(const struct section_config *config)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "wl_section_wlk",
			      config->treatment == TREATMENT_COLD ? WALK_BYTES : sizeof(uint64_t),
			      1, 0);
}

static int make_maps(struct section *section)
{
	const struct section_plan *plan = &section->plan;
	int *at = section->fds.at;
	void *memory = NULL;

	section->fds.btf_fd = bpf_types_load(program_btf, PROGRAM_BTF_SIZE);
	if (section->fds.btf_fd < 0)
		return errno;
	section->element = sizeof(struct section_cpu) + plan->rows * sizeof(struct section_row);
	at[AT_SECTION_CPUS] =
	    map_memory("wl_section_cpus", section->element, plan->cpu_limit, &memory);
	section->cpus = memory;
	if (at[AT_SECTION_CPUS] < 0)
		return errno;
	memory = NULL;
	at[AT_SECTION_OWNERS] =
	    map_memory("wl_section_own", sizeof(struct section_owner), SECTION_OWNERS, &memory);
	section->owners = memory;
	if (at[AT_SECTION_OWNERS] < 0)
		return errno;
	at[AT_SECTION_CONFIG] =
	    bpf_map_constants("wl_section_conf", &plan->config, sizeof(plan->config));
	if (at[AT_SECTION_CONFIG] < 0)
		return errno;
	at[AT_SECTION_PATHS] =
	    make_paths(section, plan->config.keeps_paths, "wl_section_pth", &section->paths);
	if (at[AT_SECTION_PATHS] < 0)
		return errno;
	at[AT_SECTION_SAMPLES] =
	    make_paths(section, plan->config.keeps_samples, "wl_section_smp", &section->samples);
	if (at[AT_SECTION_SAMPLES] < 0)
		return errno;
	at[AT_SECTION_WALK] = make_walk(&plan->config);
	if (at[AT_SECTION_WALK] < 0)
		return errno;
	/* Programs are linked with it where nothing is counted, too. */
	if (plan->counts_of)
		at[AT_SECTION_EVENTS] =
		    fcntl(plan->counts_of->fds.at[AT_SECTION_EVENTS], F_DUPFD_CLOEXEC, 0);
	else
		at[AT_SECTION_EVENTS] = bpf_map_create(
		    BPF_MAP_TYPE_PERF_EVENT_ARRAY, "wl_section_evt", sizeof(uint32_t),
		    plan->config.counter_count ? WIRE_MOST_EXECUTION_COUNTS * plan->cpu_limit : 1,
		    0);
	return at[AT_SECTION_EVENTS] < 0 ? errno : 0;
}

/* reason_of - why a hook could not be set */
static const char *reason_of(int error)
{
	return error == EILSEQ ? "no instruction begins there" : strerror(error);
}

/* attach_links - attach a program at all its places; returns 0, or an errno with the text */
static int attach_links(struct section *section, bool at_end, char *text)
{
	const struct section_method *hook = section->hook;
	struct section_links *links = at_end ? &section->end_links : &section->begin_links;
	size_t count = hook->count ? hook->count(section, at_end) : 1;

	while (links->count < count) {
		int link = hook->attach(section, at_end, links->count);

		if (link < 0)
			return fail(text, errno, "%s: %s",
				    at_end && *section->plan.end ? section->plan.end
								 : section->plan.begin,
				    reason_of(errno));
		links->at[links->count++] = link;
	}
	return 0;
}

/* missed_by - how often the kernel did not run a program of open links */
static uint64_t missed_by(const struct section_links *links)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < links->count; i++)
		missed += bpf_link_missed(links->at[i]);
	return missed;
}

static void close_links(struct section *section, struct section_links *links)
{
	section->missed += missed_by(links);
	while (links->count)
		close(links->at[--links->count]);
}

static void close_all_links(struct section *section)
{
	close_links(section, &section->begin_links);
	close_links(section, &section->end_links);
}

/*
 * close_by_exit - close the links by the end of a process, which has copies of them
 *
 * Of a uprobe whose last descriptor is closed the kernel takes the breakpoints back, and fails
 * where that process has been sent SIGKILL meanwhile: they stay in the programs. A process that
 * ends has no such signal pending any more.
 */
static void close_by_exit(struct section *section)
{
	int ends[2];
	pid_t child;
	char byte;

	if (pipe2(ends, O_CLOEXEC)) {
		close_all_links(section);
		return;
	}
	child = fork();
	if (!child) {
		close(ends[1]);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			continue;
		_exit(0);
	}
	close(ends[0]);
	close_all_links(section);
	close(ends[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* set_closed - let executions begin on all CPUs, or none any more */
static void set_closed(struct section *section, uint64_t is_closed)
{
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		__atomic_store_n(&section_cpu_at(section, i)->is_closed, is_closed,
				 __ATOMIC_RELAXED);
}

/* attach_hook - attach the programs; until section_attach() nothing begins: the kernel may take
 * long between the two */
static int attach_hook(struct section *section, char *text)
{
	int error = 0;

	set_closed(section, 1);
	/* Ends first. But programs at one tracepoint run in the order in which they came. */
	if (section->plan.is_empty && section->plan.kind == SECTION_TRACEPOINTS)
		error = attach_links(section, false, text);
	if (!error)
		error = attach_links(section, true, text);
	if (!error)
		error = attach_links(section, false, text);
	return error;
}

static void unload(struct section *section)
{
	section_detach(section);
	close_fd(&section->begin_program);
	close_fd(&section->end_program);
}

/*
 * try_hook - load the programs for a hook, and attach them: it works where that does
 *
 * They stay attached, since to detach takes long, but nothing begins yet. Those of an empty section
 * are not attached: its hook is one that works.
 */
static int try_hook(struct section *section, const struct section_method *hook, char *text)
{
	int error;

	section->hook = hook;
	error = hook->load(section, text);
	if (!error && !section->plan.is_empty)
		error = attach_hook(section, text);
	if (!error)
		return 0;
	unload(section);
	section->hook = NULL;
	return error;
}

/* find_hook - find the first hook that works; the text has why each does not */
static int find_hook(struct section *section, char *text)
{
	char reasons[REASONS_ROOM] = "", reason[FAILURE_TEXT];
	size_t length = 0;
	int error = EOPNOTSUPP;

	for (const struct section_method *const *hook =
		 section_methods(section->plan.kind, *section->plan.end);
	     *hook; hook++) {
		if (section->plan.hook && section->plan.hook != (*hook)->kind)
			continue;
		reason[0] = '\0';
		error = try_hook(section, *hook, reason);
		if (!error)
			return 0;
		length += (size_t)snprintf(reasons + length, sizeof(reasons) - length, "%s%s: %s",
					   length ? "; " : "", (*hook)->name, reason);
		/* The rest of the hooks is tried, and not said why it does not work. */
		if (length >= sizeof(reasons))
			length = sizeof(reasons) - 1;
	}
	return fail(text, error, "no hook can be set there: %s",
		    reasons[0] ? reasons : "this kind of section has no such hook");
}

/* plan_code_reads - choose how much of its code is read; returns 0, or an errno with the text */
static int plan_code_reads(struct section *section, char *text)
{
	struct section_plan *plan = &section->plan;
	bool is_user = plan->kind == SECTION_USER;
	uint64_t bytes = is_user ? section->user.bytes : plan->code_bytes;
	/* A file is mapped in whole pages. */
	uint64_t address = is_user ? section->user.begin.at[0].offset : plan->config.code_address;
	uint64_t lines =
	    (address % WALK_LINE_BYTES + bytes + WALK_LINE_BYTES - 1) / WALK_LINE_BYTES;

	if (!bytes)
		return fail(text, EOPNOTSUPP,
			    "what code lies in the section is not known, so that it cannot be "
			    "prefetched: name one function, or two places in this order");
	if (lines < 2)
		return fail(text, EOPNOTSUPP,
			    "its code, %" PRIu64 " bytes, is in one line of the cache, in which it "
			    "begins: there is nothing to prefetch",
			    bytes);
	plan->config.treatment_reads =
	    (uint32_t)(lines < CODE_READS_MOST ? lines : CODE_READS_MOST);
	return 0;
}

/* plan_reads - choose what is read before executions that are drawn; returns 0, or an errno with
 * the text */
static int plan_reads(struct section *section, char *text)
{
	struct section_config *config = &section->plan.config;

	if (config->treatment == TREATMENT_PREFETCH)
		return plan_code_reads(section, text);
	if (config->treatment == TREATMENT_COLD)
		config->treatment_reads = WALK_BYTES / WALK_LINE_BYTES;
	if (config->treatment == TREATMENT_FLUSH) {
		int error = flush_plan(&section->flush, &section->user, text);

		config->treatment_reads = section->flush.count;
		return error;
	}
	if (config->treatment == TREATMENT_CODE || config->treatment == TREATMENT_TLB) {
		int error = walk_plan(&section->walk, config->treatment, text);

		config->treatment_reads = section->walk.count;
		config->walking = (uint64_t)getpid();
		return error;
	}
	return 0;
}

/* open_programs - find the places in user code, and load programs; returns 0, or an errno with the
 * text */
static int open_programs(struct section *section, char *text)
{
	const struct section_plan *plan = &section->plan;
	int error = 0;

	if (plan->kind == SECTION_USER) {
		error = user_code_open(&section->user, plan->file, plan->begin, plan->end,
				       plan->config.tgid, plan->hook == HOOK_UPROBE, text);
		if (error)
			return error;
		section->plan.config.return_pops = section->user.pops;
	}
	/* Other keys than a thread say nothing of whose it is. An empty section reads it as well.
	 */
	section->plan.config.has_steal = plan->config.key == PAIRED_BY_THREAD &&
					 parts_find_steal(&section->plan.config.steal_from_queue);
	error = plan_reads(section, text);
	if (error) {
		section_close(section);
		return error;
	}
	error = make_maps(section);
	if (error)
		fail(text, error, "BPF: %s%s", strerror(error),
		     error == EPERM && geteuid() ? ": it needs root, or CAP_BPF and CAP_PERFMON"
						 : "");
	else
		error = find_hook(section, text);
	/* Other keys than a thread say nothing of what ran meanwhile. */
	if (!error && plan->config.key == PAIRED_BY_THREAD && !plan->is_empty)
		parts_load(&section->parts, &section->fds, plan);
	if (!error && plan->config.keeps_samples)
		samples_load(&section->sampling, &section->fds);
	if (error)
		section_close(section);
	return error;
}

int section_open(struct section *section, const struct section_plan *plan, char *text)
{
	char reason[FAILURE_TEXT] = "";
	int error = 0;

	*section = (struct section){
	    .plan = *plan,
	    .fds = {.btf_fd = -1,
		    .at = {[AT_SECTION_CPUS] = -1,
			   [AT_SECTION_OWNERS] = -1,
			   [AT_SECTION_CONFIG] = -1,
			   [AT_SECTION_EVENTS] = -1,
			   [AT_SECTION_PATHS] = -1,
			   [AT_SECTION_SAMPLES] = -1,
			   [AT_SECTION_WALK] = -1}},
	    .begin_program = -1,
	    .end_program = -1,
	    .user = {.fd = -1},
	};
	parts_init(&section->parts);
	samples_init(&section->sampling);
	section->plan.config.row_mask = plan->rows - 1;
	section->plan.config.fault_pops = KERNEL_RETURN_POPS;
	section->plan.config.is_user = plan->kind == SECTION_USER;
	section->plan.config.at_switch = parts_at_switch(plan);
	if (plan->hook != HOOK_KPROBE_EVENT && plan->hook != HOOK_TRACE_EVENT) {
		error = open_programs(section, text);
		if (!error || plan->kind == SECTION_USER || plan->hook || plan->config.treatment)
			return error;
	}
	if (plan->config.treatment)
		return fail(text, EOPNOTSUPP,
			    "programs read before executions, and trace events "
			    "do not: an experiment needs BPF");
	if (plan->kind == SECTION_USER)
		return fail(text, EOPNOTSUPP, "user code is timed by uprobes only");
	if (!tracing_open(section, reason))
		return 0;
	/* Both reasons: the remedy may be that of the other. */
	if (!error)
		return fail(text, EOPNOTSUPP, "tracefs: %s", reason);
	snprintf(text + strlen(text), FAILURE_TEXT - strlen(text), "; tracefs: %s", reason);
	return error;
}

int section_events(const struct section *section)
{
	return section->fds.at[AT_SECTION_EVENTS];
}

int section_attach(struct section *section, char *text)
{
	int error;

	if (section->tracing)
		return tracing_attach(section, text);
	parts_attach(&section->parts, &section->fds);
	if (section->plan.config.has_steal)
		section->parts.observed |= PART_STEAL;
	if (section->sample_ns &&
	    samples_attach(&section->sampling, section->plan.cpu_limit, section->sample_ns))
		section->parts.observed |= PART_SAMPLE;
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		section_cpu_at(section, i)->counts_handled = section->parts.counts_handled;
	error = attach_hook(section, text);
	parts_attach_last(&section->parts);
	if (!error)
		set_closed(section, 0);
	return error;
}

int section_start_arming(struct section *section, char *text)
{
	uint16_t cpus = section->plan.cpu_limit;
	int error = 0;

	if (section->plan.config.treatment == TREATMENT_FLUSH)
		return flush_start(&section->flush, section_cpu_at(section, 0), text);
	for (uint16_t i = 0; section->walk.area && i < cpus && !error; i++)
		error = walk_start(&section->walk, section_cpu_at(section, i), i, cpus, text);
	return error;
}

bool section_allow(struct section *section, uint64_t more)
{
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		struct section_cpu *cpu = section_cpu_at(section, i);

		if (cpu->limit && __atomic_load_n(&cpu->entries, __ATOMIC_RELAXED) >= cpu->limit)
			return false;
	}
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		struct section_cpu *cpu = section_cpu_at(section, i);

		__atomic_store_n(&cpu->limit,
				 __atomic_load_n(&cpu->entries, __ATOMIC_RELAXED) + more,
				 __ATOMIC_RELAXED);
	}
	return true;
}

void section_close_entries(struct section *section)
{
	if (section->tracing) {
		tracing_close_entries(section);
		return;
	}
	/* The hook stays: when a trampoline loses its entry, the kernel leaves out the returns of
	 * executions that have begun. */
	flush_stop(&section->flush);
	walk_stop(&section->walk);
	set_closed(section, 1);
}

static bool is_any_busy(const struct section *section)
{
	for (size_t i = 0; i < SECTION_OWNERS; i++)
		if (__atomic_load_n(&section->owners[i].state, __ATOMIC_ACQUIRE) & OWNER_BUSY)
			return true;
	return false;
}

/* settle - wait until the programs that were started before have ended: detaching does not */
static void settle(const struct section *section)
{
	struct timespec pause = {.tv_nsec = SETTLE_NS};

	/* On all CPUs whatever keeps RCU from going on has ended then. */
	syscall(SYS_membarrier, MEMBARRIER_EVERYWHERE, 0, 0);
	/* A program on a trampoline can be preempted. */
	for (int i = 0; i < SETTLE_MOST && section->owners && is_any_busy(section); i++)
		nanosleep(&pause, NULL);
}

void section_detach(struct section *section)
{
	bool was_attached = section->begin_links.count || section->end_links.count;

	if (section->tracing) {
		tracing_detach(section);
		return;
	}
	if (was_attached && section->plan.kind == SECTION_USER)
		close_by_exit(section);
	else
		close_all_links(section);
	samples_detach(&section->sampling);
	parts_detach(&section->parts);
	if (was_attached)
		settle(section);
}

void section_forget(struct section *section)
{
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		struct section_cpu *cpu = section_cpu_at(section, i);
		uint64_t one_in = cpu->one_in, above_ns = cpu->above_ns, longer_ns = cpu->longer_ns;

		memset(cpu, 0, sizeof(*cpu));
		cpu->one_in = one_in;
		cpu->above_ns = above_ns;
		cpu->longer_ns = longer_ns;
		if (section->paths)
			memset(&section->paths[i], 0, sizeof(section->paths[i]));
		if (section->samples)
			memset(&section->samples[i], 0, sizeof(section->samples[i]));
	}
	if (section->tracing)
		tracing_forget(section);
	else
		memset(section->owners, 0, SECTION_OWNERS * sizeof(*section->owners));
}

bool section_gather(struct section *section)
{
	return !section->tracing || tracing_gather(section);
}

uint64_t section_lost(const struct section *section)
{
	return section->tracing ? tracing_lost(section) : 0;
}

struct section_cpu *section_cpu_at(const struct section *section, uint16_t cpu)
{
	return (void *)(section->cpus + section->element * cpu);
}

const struct section_row *section_row_at(const struct section *section, uint16_t cpu,
					 uint64_t number)
{
	const struct section_row *rows = (const void *)(section_cpu_at(section, cpu) + 1);

	return &rows[number & section->plan.config.row_mask];
}

/* missed_runs - how often the kernel did not run a program: it, or another, was running there */
static uint64_t missed_runs(int program)
{
	struct bpf_prog_info info;

	bpf_program_info(program, &info);
	return info.recursion_misses;
}

uint64_t section_longer_ns(const struct section *section)
{
	uint64_t counts[WIRE_WAIT_BINS] = {0}, returned = 0, below = 0;
	uint32_t bin = 0;

	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		for (size_t each = 0; each < WIRE_WAIT_BINS; each++) {
			counts[each] += section_cpu_at(section, i)->bins[each];
			returned += section_cpu_at(section, i)->bins[each];
		}
	if (returned < MEDIAN_LEAST)
		return 0;
	while (2 * (below + counts[bin]) < returned)
		below += counts[bin++];
	/* Beyond all of the median's bin. */
	return 2 * bins_begin(bin + 1);
}

void section_account(const struct section *section, struct section_account *account)
{
	*account = (struct section_account){0};
	if (section->tracing)
		tracing_account(section, account);
	else
		account->missed = missed_runs(section->begin_program) +
				  missed_runs(section->end_program) + section->missed +
				  missed_by(&section->begin_links) + missed_by(&section->end_links);
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		const struct section_cpu *cpu = section_cpu_at(section, i);

		account->entries += cpu->entries;
		account->left += cpu->left;
		account->too_deep += cpu->too_deep;
		account->no_room += cpu->no_room;
		account->unmatched += cpu->unmatched;
		account->missed += cpu->missed;
		for (size_t bin = 0; bin < WIRE_WAIT_BINS; bin++)
			account->returned += cpu->bins[bin];
	}
	for (size_t i = 0; i < SECTION_OWNERS && section->owners; i++)
		account->in_flight += section->owners[i].state & OWNER_DEPTH;
}

bool section_counts_missed(const struct section *section)
{
	return section->tracing || section_hook_counts_missed(section->hook->kind);
}

void section_arm_account(const struct section *section, bool is_treated,
			 struct section_arm_account *account)
{
	*account = (struct section_arm_account){0};
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		const struct section_arm *arm = &section_cpu_at(section, i)->arms[is_treated];

		account->entries += arm->entries;
		account->returned += arm->returned;
		account->failed += arm->failed;
		for (size_t bin = 0; bin < WIRE_WAIT_BINS; bin++)
			account->bins[bin] += arm->bins[bin];
	}
}

enum section_hook section_hook_kind(const struct section *section)
{
	if (!section->tracing)
		return section->hook->kind;
	return section->plan.kind == SECTION_TRACEPOINTS ? HOOK_TRACE_EVENT : HOOK_KPROBE_EVENT;
}

void section_close(struct section *section)
{
	int *at = section->fds.at;

	if (section->tracing) {
		tracing_close(section);
		return;
	}
	flush_close(&section->flush);
	walk_close(&section->walk);
	unload(section);
	parts_unload(&section->parts);
	samples_unload(&section->sampling);
	if (section->cpus)
		munmap(section->cpus, mapped_size(section->element, section->plan.cpu_limit));
	if (section->owners)
		munmap(section->owners, mapped_size(sizeof(*section->owners), SECTION_OWNERS));
	section->cpus = NULL;
	section->owners = NULL;
	unmap_paths(section, &section->paths);
	unmap_paths(section, &section->samples);
	close_fd(&at[AT_SECTION_EVENTS]);
	close_fd(&at[AT_SECTION_WALK]);
	close_fd(&at[AT_SECTION_PATHS]);
	close_fd(&at[AT_SECTION_SAMPLES]);
	close_fd(&at[AT_SECTION_CONFIG]);
	close_fd(&at[AT_SECTION_OWNERS]);
	close_fd(&at[AT_SECTION_CPUS]);
	close_fd(&section->fds.btf_fd);
	user_code_close(&section->user);
}
