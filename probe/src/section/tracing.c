// SPDX-License-Identifier: MIT
#include "tracing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "section/tracefs/pairs.h"
#include "section/tracefs/records.h"
#include "section/tracefs/threads.h"
#include "small_file.h"
#include "tracefs/buffers.h"
#include "tracefs/fields.h"
#include "tracefs/instance.h"
#include "tracefs/kprobes.h"
#include "tracefs/mount.h"

/* Of all CPUs together, and of one. A CPU that writes 4 MiB within 50 ms, which is how often the
 * probe looks, has about 2,000,000 events a second. */
#define BUFFERS_MOST ((uint64_t)64 << 20)
#define BUFFER_MOST  ((uint64_t)4 << 20)
#define BUFFER_LEAST ((uint64_t)256 << 10)
/* Executions that a kretprobe watches at a time: as many as the kernel permits. */
#define WATCHED_MOST 4096u
/* An event has its time before it can be read: it may take so long from the one to the other. */
#define SETTLE_NS	   (2 * NS_PER_MS)
#define LONGEST_DEFINITION 512
#define LONGEST_FILTER	   512

/* Where a kprobe finds the stack pointer, and the return address before the kernel replaces it. The
 * registers at a return have no stack pointer on 32-bit ARM and riscv64. */
#if defined(__arm__)
#define ENTRY_FIELDS  "place=%sp caller=%lr"
#define RETURN_FIELDS ""
#define HAS_PLACES    false
#elif defined(__riscv)
#define ENTRY_FIELDS  "place=%sp caller=%ra"
#define RETURN_FIELDS ""
#define HAS_PLACES    false
#else
#define ENTRY_FIELDS  "place=%sp"
#define RETURN_FIELDS "place=%sp"
#define HAS_PLACES    true
#endif

/* Why the kernel refuses a kprobe with EINVAL. */
#if defined(__riscv)
#define REFUSED "kernels for riscv64 set no kprobe where ftrace is told of a call: it takes fentry"
#else
#define REFUSED "it may be among those that the kernel's hooks use"
#endif

/* A CPU's buffer, and the record of it that comes next. */
struct cursor {
	int raw; /* -1: the CPU has none */
	bool has_record;
	bool is_lost; /* events before this record were lost: nothing counts until it */
	struct page page;
	struct page_record record;
	uint8_t *bytes; /* of the page */
};

struct section_tracing {
	int root;
	struct instance instance;
	char group[KPROBES_GROUP];
	char begin[LONGEST_DEFINITION]; /* "system:event" */
	char end[LONGEST_DEFINITION];
	bool has_kprobes;
	bool is_attached;
	struct page_format format;
	struct record_layout begin_layout;
	struct record_layout end_layout;
	struct thread_events threads; /* none where other keys than a thread pair executions */
	struct pairs pairs;
	struct cursor *cursors; /* by CPU number */
	uint32_t in_gap;	/* cursors that are is_lost */
	uint64_t lost;
	uint64_t missed_entries, missed_returns; /* as the kernel had counted before */
};

/* ---------------------------------------------------------------- events */

/* add_function - define the events of a function's entry and return; returns 0 or an errno */
static int add_function(const struct section *section)
{
	const struct section_tracing *tracing = section->tracing;
	const char *group = tracing->group, *name = section->plan.begin;
	char definition[LONGEST_DEFINITION];
	int error;

	/* The return first: what is set last at a function runs first, and the entry must see the
	 * return address before the kernel replaces it. */
	snprintf(definition, sizeof(definition), "r%u:%s/%s_return %s %s", WATCHED_MOST, group,
		 group, name, RETURN_FIELDS);
	error = kprobes_add(tracing->root, definition);
	if (error)
		return error;
	snprintf(definition, sizeof(definition), "p:%s/%s_entry %s %s", group, group, name,
		 ENTRY_FIELDS);
	return kprobes_add(tracing->root, definition);
}

/* add_places - define the events of two places, or of one; returns 0 or an errno */
static int add_places(const struct section *section)
{
	const struct section_tracing *tracing = section->tracing;
	const char *group = tracing->group;
	char definition[LONGEST_DEFINITION];
	int error;

	snprintf(definition, sizeof(definition), "p:%s/%s_entry %s", group, group,
		 section->plan.begin);
	error = kprobes_add(tracing->root, definition);
	if (error || !strcmp(section->plan.begin, section->plan.end))
		return error;
	snprintf(definition, sizeof(definition), "p:%s/%s_return %s", group, group,
		 section->plan.end);
	return kprobes_add(tracing->root, definition);
}

/* name_events - write the names of both events; returns 0, or an errno with the text */
static int name_events(const struct section *section, char *text)
{
	struct section_tracing *tracing = section->tracing;
	const char *name = section->plan.begin, *end = section->plan.end;
	bool is_next = !strcmp(name, end);
	int error;

	if (section->plan.kind == SECTION_TRACEPOINTS) {
		snprintf(tracing->begin, sizeof(tracing->begin), "%s", name);
		snprintf(tracing->end, sizeof(tracing->end), "%s", end);
		return 0;
	}
	kprobes_group(tracing->instance.name, tracing->group);
	snprintf(tracing->begin, sizeof(tracing->begin), "%s:%s_entry", tracing->group,
		 tracing->group);
	snprintf(tracing->end, sizeof(tracing->end), "%s:%s_%s", tracing->group, tracing->group,
		 is_next ? "entry" : "return");
	tracing->has_kprobes = true;
	error = *end ? add_places(section) : add_function(section);
	if (error == ENOENT && faccessat(tracing->root, "kprobe_events", F_OK, 0))
		return fail(text, error, "this kernel has none (CONFIG_KPROBE_EVENTS)");
	if (error == ENOENT)
		return fail(text, error, "the kernel has no function %s%s%s, or it is inlined",
			    name, *end && !is_next ? " or " : "", is_next ? "" : end);
	if (error == EILSEQ)
		return fail(text, error, "%s..%s: no instruction begins at one of them", name, end);
	return error ? fail(text, error, "%s: %s%s", name, strerror(error),
			    error == EINVAL ? ": " REFUSED : "")
		     : 0;
}

/* read_layouts - read how the records of both events are laid out; returns 0, or an errno with the
 * text */
static int read_layouts(const struct section *section, char *text)
{
	struct section_tracing *tracing = section->tracing;
	const struct section_plan *plan = &section->plan;
	struct record_layout *begin = &tracing->begin_layout, *end = &tracing->end_layout;
	struct record_wanted wanted[1 + SECTION_CONDITIONS];
	int instance = tracing->instance.directory, error;
	size_t count = 0;

	if (plan->kind == SECTION_FUNCTION && !*plan->end) {
		struct record_wanted places[] = {{"place", &begin->place},
						 {"caller", &begin->caller}};
		struct record_wanted returned = {HAS_PLACES ? "place" : "__probe_ret_ip",
						 HAS_PLACES ? &end->place : &end->caller};

		error = record_layout_read(begin, instance, tracing->begin, places,
					   HAS_PLACES ? 1 : 2, text);
		return error ? error
			     : record_layout_read(end, instance, tracing->end, &returned, 1, text);
	}
	if (plan->config.key == PAIRED_BY_ARGUMENT)
		wanted[count++] = (struct record_wanted){plan->arguments.begin, &begin->key};
	for (size_t i = 0; i < plan->config.condition_count; i++)
		wanted[count++] =
		    (struct record_wanted){plan->arguments.conditions[i], &begin->conditions[i]};
	error = record_layout_read(begin, instance, tracing->begin, wanted, count, text);
	if (error)
		return error;
	wanted[0] = (struct record_wanted){plan->arguments.end, &end->key};
	return record_layout_read(end, instance, tracing->end, wanted,
				  plan->config.key == PAIRED_BY_ARGUMENT, text);
}

/* write_event - write a file of an event's folder; returns 0 or an errno */
static int write_event(const struct section_tracing *tracing, const char *event, const char *file,
		       const char *value)
{
	const char *colon = strchr(event, ':');
	char path[LONGEST_DEFINITION];

	snprintf(path, sizeof(path), "events/%.*s/%s/%s", (int)(colon - event), event, colon + 1,
		 file);
	return small_file_write(tracing->instance.directory, path, value);
}

/* is_one_event - whether a section ends where it begins: nothing can be left out by one filter of
 * both */
static bool is_one_event(const struct section_tracing *tracing)
{
	return tracing->begin_layout.id == tracing->end_layout.id;
}

/* write_filters - leave out in the kernel what no execution begins or ends with; returns 0, or an
 * errno with the text */
static int write_filters(const struct section *section, char *text)
{
	const struct section_tracing *tracing = section->tracing;
	const struct section_config *config = &section->plan.config;
	char filter[LONGEST_FILTER] = "";
	int error = 0;

	if (config->tgid)
		snprintf(filter, sizeof(filter), "common_pid==%" PRIu32, config->tgid);
	else if (config->has_comm && strpbrk(config->comm, "\"\\"))
		return fail(text, EINVAL, "the kernel cannot look for that name of a thread");
	else if (config->has_comm)
		snprintf(filter, sizeof(filter), "COMM == \"%.16s\"", config->comm);
	/* Where another thread may end it, its name says nothing. */
	if (*filter && config->key == PAIRED_BY_THREAD)
		error = write_event(tracing, tracing->end, "filter", filter);
	if (!error && *filter && !is_one_event(tracing))
		error = write_event(tracing, tracing->begin, "filter", filter);
	return error ? fail(text, error, "the filter of an event: %s", strerror(error)) : 0;
}

/* ---------------------------------------------------------------- start and end */

/* allocate - allocate what is per CPU, and open the buffers; returns 0, or an errno with the text
 */
static int allocate(struct section *section, char *text)
{
	struct section_tracing *tracing = section->tracing;
	uint16_t cpus = section->plan.cpu_limit;
	bool has_any = false;

	tracing->cursors = calloc(cpus, sizeof(*tracing->cursors));
	if (!tracing->cursors)
		return fail(text, ENOMEM, "no memory to read trace events");
	for (uint16_t i = 0; i < cpus; i++)
		tracing->cursors[i].raw = -1;
	for (uint16_t i = 0; i < cpus; i++) {
		struct cursor *cursor = &tracing->cursors[i];

		cursor->bytes = calloc(1, tracing->format.page_size);
		if (!cursor->bytes)
			return fail(text, ENOMEM, "no memory to read trace events");
		cursor->raw = buffers_open(&tracing->instance, i);
		has_any |= cursor->raw >= 0;
	}
	return has_any ? 0 : fail(text, ENOENT, "the kernel's buffers cannot be read");
}

static struct section_cpu *cpu_at(void *context, uint16_t cpu)
{
	return section_cpu_at(context, cpu);
}

/* check - refuse what only programs can do; returns 0, or an errno with the text */
static int check(const struct section *section, char *text)
{
	const struct section_config *config = &section->plan.config;

	if (config->counter_count)
		return fail(text, EOPNOTSUPP, "events are counted by BPF programs only");
	if (config->keeps_locks || config->keeps_paths || config->keeps_samples)
		return fail(text, EOPNOTSUPP, "%s are told by BPF programs only",
			    config->keeps_locks	  ? "waits for locks"
			    : config->keeps_paths ? "call paths"
						  : "places in the code");
	if (config->tgid && !section->plan.is_empty)
		return fail(text, EOPNOTSUPP,
			    "trace events know threads and no processes: use --comm NAME");
	return 0;
}

/* set_up - make the instance and the events in it; returns 0, or an errno with the text */
static int set_up(struct section *section, char *text)
{
	struct section_tracing *tracing = section->tracing;
	uint64_t bytes = BUFFERS_MOST / section->plan.cpu_limit;
	int error = mount_open(&tracing->root, text);

	if (error)
		return error;
	error = instance_make(&tracing->instance, tracing->root, text);
	if (error) {
		tracing->instance.name[0] = '\0';
		return error;
	}
	bytes = bytes > BUFFER_MOST ? BUFFER_MOST : bytes;
	bytes = bytes < BUFFER_LEAST || section->plan.is_empty ? BUFFER_LEAST : bytes;
	error = buffers_set_up(&tracing->instance, bytes, &tracing->format, text);
	if (!error)
		error = name_events(section, text);
	if (!error)
		error = read_layouts(section, text);
	if (!error)
		error = write_filters(section, text);
	if (!error && section->plan.config.key == PAIRED_BY_THREAD && !section->plan.is_empty)
		threads_read_layouts(&tracing->threads, tracing->instance.directory);
	if (!error)
		error = allocate(section, text);
	return error;
}

int tracing_open(struct section *section, char *text)
{
	struct section_tracing *tracing = calloc(1, sizeof(*tracing));
	size_t rows = section->plan.rows * sizeof(struct section_row);
	int error = check(section, text);

	if (error || !tracing) {
		free(tracing);
		return error ? error : fail(text, ENOMEM, "no memory to time a section");
	}
	tracing->root = -1;
	section->tracing = tracing;
	section->element = sizeof(struct section_cpu) + rows;
	section->cpus = mmap(NULL, section->element * section->plan.cpu_limit,
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (section->cpus == MAP_FAILED)
		section->cpus = NULL;
	if (!section->cpus || !pairs_open(&tracing->pairs, cpu_at, section, section->plan.rows - 1))
		error = fail(text, ENOMEM, "no memory to time a section");
	if (!error)
		error = set_up(section, text);
	if (error)
		tracing_close(section);
	return error;
}

void tracing_close(struct section *section)
{
	struct section_tracing *tracing = section->tracing;

	tracing_detach(section);
	for (uint16_t i = 0; i < section->plan.cpu_limit && tracing->cursors; i++) {
		if (tracing->cursors[i].raw >= 0)
			close(tracing->cursors[i].raw);
		free(tracing->cursors[i].bytes);
	}
	/* Events can go when no instance has them enabled. */
	if (tracing->instance.name[0])
		instance_remove(&tracing->instance);
	if (tracing->has_kprobes)
		kprobes_remove(tracing->root, tracing->group);
	if (tracing->root >= 0)
		close(tracing->root);
	pairs_close(&tracing->pairs);
	free(tracing->cursors);
	free(tracing);
	if (section->cpus)
		munmap(section->cpus, section->element * section->plan.cpu_limit);
	section->cpus = NULL;
	section->tracing = NULL;
}

/* read_missed - read how often the kernel did not run the probe of an event: it, or another, was at
 * work there; or it had no room to watch for the return */
static uint64_t read_missed(const struct section_tracing *tracing, const char *event)
{
	const char *name = strchr(event, ':') + 1;
	char key[LONGEST_DEFINITION], *text, *line, *rest;
	uint64_t missed = 0;

	if (!tracing->has_kprobes)
		return 0;
	text = rest = malloc(TRACE_FORMAT_LONGEST);
	if (text && small_file_read(tracing->root, "kprobe_profile", text, TRACE_FORMAT_LONGEST))
		*text = '\0';
	while (text && (line = trace_next_line(&rest)) != NULL) {
		uint64_t hits, here;

		if (sscanf(line, "%511s %" SCNu64 " %" SCNu64, key, &hits, &here) == 3 &&
		    !strcmp(key, name))
			missed = here;
	}
	free(text);
	return missed;
}

int tracing_attach(struct section *section, char *text)
{
	struct section_tracing *tracing = section->tracing;
	const char *what = tracing->end;
	int error;

	/* The kernel may take long between the two: until both are there nothing is counted. */
	tracing->pairs.open_ns = tracing->pairs.close_ns = UINT64_MAX;
	tracing->missed_entries = read_missed(tracing, tracing->begin);
	tracing->missed_returns = read_missed(tracing, tracing->end);
	error = small_file_write(tracing->instance.directory, "tracing_on", "1");
	tracing->is_attached = true;
	threads_enable(&tracing->threads, tracing->instance.directory, true);
	if (!error)
		error = write_event(tracing, what, "enable", "1");
	if (!error && !is_one_event(tracing)) {
		what = tracing->begin;
		error = write_event(tracing, what, "enable", "1");
	}
	if (error)
		return fail(text, error, "%s: %s", section->plan.begin, strerror(error));
	tracing->pairs.open_ns = clock_ns();
	return 0;
}

void tracing_close_entries(struct section *section)
{
	struct pairs *pairs = &section->tracing->pairs;

	if (pairs->close_ns == UINT64_MAX)
		pairs->close_ns = clock_ns();
}

void tracing_detach(struct section *section)
{
	struct section_tracing *tracing = section->tracing;

	if (!tracing->is_attached)
		return;
	tracing_close_entries(section);
	write_event(tracing, tracing->begin, "enable", "0");
	if (!is_one_event(tracing))
		write_event(tracing, tracing->end, "enable", "0");
	threads_enable(&tracing->threads, tracing->instance.directory, false);
	tracing->is_attached = false;
	/* Those that are being written. */
	nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
}

void tracing_forget(struct section *section)
{
	section->tracing->lost = 0;
	pairs_forget(&section->tracing->pairs);
}

/* ---------------------------------------------------------------- events, in the order of time */

/* lose - events of a CPU were lost before its next record, so that what has begun is not known */
static void lose(struct section_tracing *tracing, uint16_t cpu, uint64_t count)
{
	tracing->lost += count;
	tracing->in_gap += !tracing->cursors[cpu].is_lost;
	tracing->cursors[cpu].is_lost = true;
	pairs_lose(&tracing->pairs, cpu);
}

/* next_record - go to the next record of a CPU; false: there is none yet */
static bool next_record(struct section_tracing *tracing, uint16_t cpu)
{
	struct cursor *cursor = &tracing->cursors[cpu];

	while (!cursor->has_record) {
		ssize_t got;

		if (page_next(&cursor->page, &cursor->record)) {
			cursor->has_record = true;
			break;
		}
		if (cursor->page.malformed)
			lose(tracing, cpu, 1);
		cursor->page = (struct page){0};
		got = cursor->raw < 0 ? -1
				      : read(cursor->raw, cursor->bytes, tracing->format.page_size);
		if (got <= 0)
			return false;
		page_open(&cursor->page, &tracing->format, cursor->bytes, (size_t)got);
		/* What is older than the opening of the section does not matter. */
		if (cursor->page.lost && cursor->page.time_ns >= tracing->pairs.open_ns)
			lose(tracing, cpu, cursor->page.lost);
	}
	return true;
}

/* holds - whether a record has what the section's conditions ask for */
static bool holds(const struct section *section, const struct page_record *record)
{
	const struct section_config *config = &section->plan.config;

	for (size_t i = 0; i < config->condition_count; i++) {
		const struct record_field *field = &section->tracing->begin_layout.conditions[i];
		unsigned bits = 64 - 8u * field->size;

		if ((record_number(record, field) ^ config->conditions[i].value) << bits)
			return false;
	}
	return true;
}

/* event_of - what a record says as a beginning, or an end */
static struct pair_event event_of(const struct section *section, uint16_t cpu,
				  const struct page_record *record,
				  const struct record_layout *layout)
{
	/* Keys of threads are 1 + their pid; the idle threads, which all have pid 0, and CPUs
	 * follow. */
	const uint64_t of_cpu = UINT64_C(2) + WIRE_HIGHEST_PID + cpu;
	uint32_t pid = (uint32_t)record_number(record, &layout->pid);
	uint64_t key = pid ? threads_key(pid) : of_cpu;

	if (section->plan.config.key == PAIRED_BY_CPU)
		key = of_cpu;
	/* 0 is no key: arguments have others, as their highest 8 bits say nothing. */
	else if (section->plan.config.key == PAIRED_BY_ARGUMENT)
		key = UINT64_C(1) << 56 | (record_number(record, &layout->key) << 8 >> 8);
	return (struct pair_event){
	    .time_ns = record->time_ns,
	    .key = key,
	    .place = record_number(record, &layout->place),
	    .caller = record_number(record, &layout->caller),
	    .pid = pid,
	    .cpu = cpu,
	};
}

/* follow_record - end and begin what a record says */
static void follow_record(struct section *section, uint16_t cpu, const struct page_record *record)
{
	struct section_tracing *tracing = section->tracing;
	const struct section_config *config = &section->plan.config;

	threads_before(&tracing->threads, &tracing->pairs, cpu, record);
	if (record_is(&tracing->end_layout, record)) {
		struct pair_event event = event_of(section, cpu, record, &tracing->end_layout);

		event.place -= event.place ? config->return_pops : 0;
		pairs_end(&tracing->pairs, &event,
			  !config->condition_count && !config->has_comm && !is_one_event(tracing));
	}
	if (record_is(&tracing->begin_layout, record) && holds(section, record)) {
		const struct pair_event event =
		    event_of(section, cpu, record, &tracing->begin_layout);

		pairs_begin(&tracing->pairs, &event);
	}
	/* Two places may lie on either side of a thread's end, in the code of that. */
	threads_after(&tracing->threads, &tracing->pairs, cpu, record, *section->plan.end);
}

/* first_of - the CPU whose next record is the oldest; cpu_limit: no record is there */
static uint16_t first_of(struct section *section)
{
	struct section_tracing *tracing = section->tracing;
	uint16_t first = section->plan.cpu_limit;
	uint64_t first_ns = UINT64_MAX;

	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		if (next_record(tracing, i) && tracing->cursors[i].record.time_ns < first_ns) {
			first = i;
			first_ns = tracing->cursors[i].record.time_ns;
		}
	return first;
}

bool tracing_gather(struct section *section)
{
	struct section_tracing *tracing = section->tracing;
	/* Whatever happened before can be read by now. */
	uint64_t until_ns = tracing->is_attached ? clock_ns() - SETTLE_NS : UINT64_MAX;
	/* Rows are read between two calls. */
	uint64_t most = section->plan.rows / 2;

	for (uint64_t i = 0; i < most; i++) {
		uint16_t cpu = first_of(section);
		struct cursor *cursor;

		if (cpu == section->plan.cpu_limit)
			return true;
		cursor = &tracing->cursors[cpu];
		if (cursor->record.time_ns > until_ns)
			return true;
		if (cursor->is_lost) {
			/* The gap of this CPU ends here. */
			lose(tracing, cpu, 0);
			cursor->is_lost = false;
			tracing->in_gap--;
		}
		if (!tracing->in_gap)
			follow_record(section, cpu, &cursor->record);
		else
			tracing->lost++;
		cursor->has_record = false;
	}
	return false;
}

uint64_t tracing_lost(const struct section *section)
{
	return section->tracing->lost;
}

void tracing_account(const struct section *section, struct section_account *account)
{
	const struct section_tracing *tracing = section->tracing;
	uint64_t entries = read_missed(tracing, tracing->begin) - tracing->missed_entries;
	uint64_t returns = read_missed(tracing, tracing->end) - tracing->missed_returns;

	account->in_flight = pairs_in_flight(&tracing->pairs, false);
	account->left = pairs_in_flight(&tracing->pairs, true);
	account->missed += entries + tracing->lost;
	/* Returns that were not watched for: which of several executions of one caller returned is
	 * not known then. */
	if (returns > entries)
		account->missed += returns - entries < tracing->pairs.ambiguous
				       ? returns - entries
				       : tracing->pairs.ambiguous;
}
