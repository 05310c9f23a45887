// SPDX-License-Identifier: MIT
#include "hits.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "benchmark/counters.h"
#include "failure.h"
#include "small_file.h"
#include "tracefs/mount.h"
#include "wire/pack.h"
#include "wire/send.h"

#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type"
#define NAME_ROOM   (WIRE_LONGEST_HIT + 1)
#define SYMBOL_ROOM 256

/* How a name is counted. */
struct source {
	struct counter_event event;
	char filter[NAME_ROOM + 16]; /* of ftrace:function; "": none */
	const char *how;
};

/* is_plain - whether a name is a word of C, or two with a colon between them: what the kernel
 * would take for a path or a pattern is not */
static bool is_plain(const char *name)
{
	size_t colons = 0;

	if (!*name || *name == ':' || name[strlen(name) - 1] == ':')
		return false;
	for (; *name; name++) {
		colons += *name == ':';
		if (!isalnum((unsigned char)*name) && !strchr("_.:-", *name))
			return false;
	}
	return colons < 2;
}

/* tracepoint_id - the id of a tracepoint, 0 where the kernel has none of that name */
static uint64_t tracepoint_id(int root, const char *system, const char *event)
{
	char path[2 * NAME_ROOM + 16];

	snprintf(path, sizeof(path), "events/%s/%s/id", system, event);
	return small_file_number(root, path, "");
}

/* ---------------------------------------------------------------- one name */

/* find_tracepoint - returns 0, or an errno with the text */
static int find_tracepoint(struct source *source, int root, char *name, char *text)
{
	char *event = strchr(name, ':');
	uint64_t id;

	*event++ = '\0';
	id = tracepoint_id(root, name, event);
	event[-1] = ':';
	if (!id)
		return fail(text, ENOENT, "this kernel has no tracepoint %s", name);
	*source = (struct source){.event = {.type = PERF_TYPE_TRACEPOINT, .config = id},
				  .how = "tracepoint"};
	return 0;
}

/* find_kprobe - a kprobe at the function's entry, which perf itself makes (since Linux 4.17) */
static bool find_kprobe(struct source *source, const char *name)
{
	uint64_t type = small_file_number(-1, KPROBE_TYPE, "");

	*source = (struct source){.event = {.type = type, .function = name}, .how = "kprobe"};
	return type != 0;
}

/* find_ftrace - the function tracer's hook at its entry, with a filter (CONFIG_FUNCTION_TRACER) */
static bool find_ftrace(struct source *source, int root, const char *name)
{
	uint64_t id = tracepoint_id(root, "ftrace", "function");

	*source =
	    (struct source){.event = {.type = PERF_TYPE_TRACEPOINT, .config = id}, .how = "ftrace"};
	snprintf(source->filter, sizeof(source->filter), "ip == %s", name);
	return id != 0;
}

static void close_row(struct hits *hits, size_t name, size_t cpus)
{
	for (size_t i = 0; i < cpus; i++) {
		int *fd = &hits->fds[i * hits->names + name];

		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
}

/* open_row - count a name on all CPUs, or on none; returns 0 or an errno */
static int open_row(struct hits *hits, size_t name, const struct source *source)
{
	for (size_t i = 0; i < hits->cpus; i++) {
		int fd = counters_open_event(&source->event, -1, hits->cpu[i]);
		int error = fd < 0 ? -fd : 0;

		hits->fds[i * hits->names + name] = fd < 0 ? -1 : fd;
		if (!error && source->filter[0] &&
		    ioctl(fd, PERF_EVENT_IOC_SET_FILTER, source->filter) < 0)
			error = errno;
		if (!error)
			continue;
		close_row(hits, name, i + 1);
		return error;
	}
	return 0;
}

/* find_symbol - whether a symbol of the kernel has that name (1), that name with a suffix of the
 * compiler's (2, with the whole name), or none has (0); -1: the kernel does not show them */
static int find_symbol(const char *name, char *whole)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	size_t length = strlen(name);
	char line[512], symbol[SYMBOL_ROOM];
	int symbol_match = -1;

	while (symbols && symbol_match != 1 && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*s %*c %255s", symbol) != 1)
			continue;
		if (symbol_match < 0)
			symbol_match = 0;
		if (strncmp(symbol, name, length) != 0)
			continue;
		if (!symbol[length])
			symbol_match = 1;
		else if (symbol[length] == '.' && !symbol_match) {
			symbol_match = 2;
			snprintf(whole, SYMBOL_ROOM, "%s", symbol);
		}
	}
	if (symbols)
		fclose(symbols);
	return symbol_match;
}

/* why_not_function - say why a function is not counted; ENOENT where the kernel surely has none */
static int why_not_function(int error, const char *name, char *text)
{
	char whole[SYMBOL_ROOM] = "";
	int symbol_match = find_symbol(name, whole);

	if (!symbol_match)
		return fail(text, ENOENT,
			    "this kernel has no function %s: it is absent, or inlined", name);
	if (symbol_match == 2)
		return fail(text, EINVAL, "the compiler renamed %s: count %s", name, whole);
	if (error == EADDRNOTAVAIL)
		return fail(text, error, "several functions of this kernel are called %s", name);
	if (error == EINVAL || error == ENOENT)
		return fail(text, EINVAL, "the kernel lets nobody probe %s", name);
	return fail(text, error, "%s cannot be counted: %s", name, strerror(error));
}

/* is_traced - whether ftrace has a hook in a function; without a list of those it is to be tried */
static bool is_traced(int root, const char *name)
{
	int fd = openat(root, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	FILE *functions = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512], symbol[SYMBOL_ROOM];
	bool traced = !functions;

	while (functions && !traced && fgets(line, sizeof(line), functions))
		traced = sscanf(line, "%255s", symbol) == 1 && !strcmp(symbol, name);
	if (functions)
		fclose(functions);
	else if (fd >= 0)
		close(fd);
	return traced;
}

/* may_ftrace - whether ftrace may count what a kprobe could not, which is there, and there once. It
 * is not tried for nothing: opening its event hooks every function of the kernel until the filter
 * is set, which takes an emulated board minutes. */
static bool may_ftrace(int error, int root, const char *name)
{
	return error != ENOENT && error != EADDRNOTAVAIL && is_traced(root, name);
}

/* open_function - count a function by a kprobe, else by ftrace; returns 0, or an errno with the
 * text */
static int open_function(struct hits *hits, size_t at, const char *name, int root,
			 struct source *source, char *text)
{
	int error = EOPNOTSUPP, second = EOPNOTSUPP;

	if (find_kprobe(source, name) && !(error = open_row(hits, at, source)))
		return 0;
	if (find_ftrace(source, root, name)) {
		second = EINVAL;
		if (may_ftrace(error, root, name) && !(second = open_row(hits, at, source)))
			return 0;
	}
	if (error == EOPNOTSUPP && second == EOPNOTSUPP)
		return fail(text, error,
			    "this kernel can count no functions: it has neither "
			    "kprobes (CONFIG_KPROBE_EVENTS) nor CONFIG_FUNCTION_TRACER");
	return why_not_function(error == EOPNOTSUPP ? second : error, name, text);
}

/* open_name - count a name; returns 0, or an errno with the text */
static int open_name(struct hits *hits, size_t at, char *name, int root, struct source *source,
		     char *text)
{
	int error;

	if (!is_plain(name))
		return fail(text, EINVAL, "invalid name of a function or a tracepoint");
	if (!strchr(name, ':'))
		return open_function(hits, at, name, root, source, text);
	error = find_tracepoint(source, root, name, text);
	if (error)
		return error;
	error = open_row(hits, at, source);
	return fail(text, error, "%s cannot be counted: %s", name, strerror(error));
}

/* ---------------------------------------------------------------- all names */

static int make_room(struct hits *hits, const struct wire_hits *wanted, char *text)
{
	size_t names = wanted->names.count, cpus = wanted->cpus.count;

	if (!names || names > WIRE_MOST_HITS || !cpus || cpus > WIRE_MOST_CPUS)
		return fail(text, EINVAL, "invalid hits: expected 1 to %u names and 1 to %u CPUs",
			    WIRE_MOST_HITS, WIRE_MOST_CPUS);
	*hits = (struct hits){.names = names,
			      .cpus = cpus,
			      .cpu = calloc(cpus, sizeof(*hits->cpu)),
			      .fds = calloc(cpus * names, sizeof(*hits->fds))};
	if (!hits->cpu || !hits->fds) {
		free(hits->cpu);
		free(hits->fds);
		*hits = (struct hits){0};
		return fail(text, ENOMEM, "no memory to count hits");
	}
	for (size_t i = 0; i < cpus; i++)
		hits->cpu[i] = wire_list_u16(wanted->cpus, i);
	for (size_t i = 0; i < cpus * names; i++)
		hits->fds[i] = -1;
	return 0;
}

int hits_start(struct hits *hits, const struct wire_hits *wanted, struct sender *sender, char *text)
{
	char name[NAME_ROOM], reason[FAILURE_TEXT];
	struct wire_list words = wanted->names;
	int root, error;

	hits_close(hits);
	error = mount_open(&root, reason);
	if (error)
		return fail(text, error, "hits cannot be counted: %s", reason);
	error = make_room(hits, wanted, text);
	for (size_t i = 0; !error && i < hits->names; i++) {
		struct source source = {.how = ""};
		int failed;

		if (!wire_copy_text(wire_list_next_str(&words), name, sizeof(name)))
			name[0] = '\0';
		reason[0] = '\0';
		failed = open_name(hits, i, name, root, &source, reason);
		SEND(sender, hit_source, HIT_SOURCE, .place = (uint16_t)i, .error = failed,
		     .text = wire_text(failed ? reason : source.how));
	}
	close(root);
	/* What ran while the others were opened is not of the run. */
	for (size_t i = 0; i < hits->cpus * hits->names; i++)
		if (hits->fds[i] >= 0)
			ioctl(hits->fds[i], PERF_EVENT_IOC_RESET, 0);
	return error;
}

static uint64_t read_count(int fd)
{
	struct counter_reading reading;

	if (fd < 0 || read(fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
		return 0;
	return reading.value;
}

void hits_end(struct hits *hits, struct sender *sender)
{
	uint64_t values[WIRE_MOST_HITS];
	uint8_t room[sizeof(values)];

	for (size_t i = 0; i < hits->cpus; i++) {
		for (size_t name = 0; name < hits->names; name++)
			values[name] = read_count(hits->fds[i * hits->names + name]);
		SEND(sender, cpu_hits, CPU_HITS, .cpu = hits->cpu[i],
		     .values = wire_list_of_u64(room, values, hits->names));
	}
	hits_close(hits);
}

void hits_close(struct hits *hits)
{
	for (size_t name = 0; name < hits->names; name++)
		close_row(hits, name, hits->cpus);
	free(hits->cpu);
	free(hits->fds);
	*hits = (struct hits){0};
}
