// SPDX-License-Identifier: MIT
#include "hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/peek.h"
#include "kallsyms.h"

/* The kernel's struct tracepoint_func: a function, its data, its priority; a function of 0 is last.
 */
#define FUNCTION_SIZE 24
/* As many are looked at; more than the kernel and its users ever have at one tracepoint. */
#define FUNCTIONS_MOST 32
/* More than a kernel with all its modules has. */
#define TRACEPOINTS_MOST 8192
/* At all tracepoints together, the kernel's own among them: with more the list is not known. */
#define ATTACHED_MOST 2048

#define TRACEPOINT "__tracepoint_"
/* What calls the programs at a tracepoint. */
#define CALLS_PROGRAMS "__bpf_trace_"

struct tracepoint {
	uint64_t address;
	char name[64];
};

/* What one pass over the kernel's symbols finds. */
struct scan {
	struct tracepoint *tracepoints;
	size_t count;
	uint64_t calls_returns; /* 0: there are no such notifiers */
};

static void find(void *context, const char *name, uint64_t address)
{
	struct scan *scan = context;

	if (!strcmp(name, HOOKS_CALLS_RETURNS))
		scan->calls_returns = address;
	if (strncmp(name, TRACEPOINT, strlen(TRACEPOINT)) != 0 || scan->count >= TRACEPOINTS_MOST)
		return;
	scan->tracepoints[scan->count].address = address;
	snprintf(scan->tracepoints[scan->count++].name, sizeof(scan->tracepoints[0].name), "%.63s",
		 name + strlen(TRACEPOINT));
}

/* read_functions - read the addresses of all functions at a tracepoint; returns how many, -1 where
 * refused */
static int read_functions(int program, uint64_t tracepoint, size_t functions_at,
			  uint64_t *functions)
{
	uint64_t list;
	int count = 0;

	if (!bpf_peek(program, tracepoint + functions_at, &list))
		return -1;
	for (; list && count < FUNCTIONS_MOST; count++) {
		if (!bpf_peek(program, list + (uint64_t)count * FUNCTION_SIZE, &functions[count]))
			return -1;
		if (!functions[count])
			break;
	}
	return count;
}

static int compare_addresses(const void *first, const void *second)
{
	const struct symbol *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

/* add_hook - describe a function that is not the kernel's own; false where it is */
static bool add_hook(struct hook *hook, const struct symbol *function, const char *at)
{
	int length = (int)strcspn(function->name, "+");

	memset(hook, 0, sizeof(*hook));
	snprintf(hook->at, sizeof(hook->at), "%s", at);
	hook->address = function->address;
	if (!strncmp(function->name, CALLS_PROGRAMS, strlen(CALLS_PROGRAMS))) {
		snprintf(hook->name, sizeof(hook->name), "a BPF program");
		hook->is_program = true;
		return true;
	}
	if (!function->module[0] && function->name[0])
		return false;
	if (function->name[0])
		snprintf(hook->name, sizeof(hook->name), "%.*s [%s]", length, function->name,
			 function->module);
	else
		snprintf(hook->name, sizeof(hook->name), "a function without a name");
	return true;
}

/* collect - read what is at all tracepoints; id: which of them. Returns how many functions there
 * are, -1: not known */
static int collect(int program, const struct scan *scan, size_t functions_at,
		   struct symbol *symbols)
{
	uint64_t addresses[FUNCTIONS_MOST];
	int count = 0;

	for (size_t i = 0; i < scan->count; i++) {
		int here =
		    read_functions(program, scan->tracepoints[i].address, functions_at, addresses);

		if (here < 0 || here == FUNCTIONS_MOST || count + here > ATTACHED_MOST)
			return -1;
		for (int j = 0; j < here; j++)
			symbols[count++] =
			    (struct symbol){.address = addresses[j], .id = (uint32_t)i};
	}
	return count;
}

/* read_tracepoints - list what others have at all tracepoints; returns how many, -1: not known */
static int read_tracepoints(struct hook *hooks, const struct scan *scan, size_t functions_at)
{
	struct symbol *symbols = calloc(ATTACHED_MOST, sizeof(*symbols));
	int program = scan->count && symbols ? bpf_peek_open() : -1;
	int attached = program < 0 ? -1 : collect(program, scan, functions_at, symbols);
	int count = attached < 0 ? -1 : 0;

	if (program >= 0)
		close(program);
	if (attached > 0) {
		qsort(symbols, (size_t)attached, sizeof(*symbols), compare_addresses);
		if (!kallsyms_resolve(symbols, (size_t)attached))
			count = -1;
	}
	for (int i = 0; i < attached && count >= 0; i++) {
		struct hook hook;

		if (!add_hook(&hook, &symbols[i], scan->tracepoints[symbols[i].id].name))
			continue;
		/* A list that lacks some says nothing of what is not in it. */
		if (count == HOOKS_MOST)
			count = -1;
		else
			hooks[count++] = hook;
	}
	free(symbols);
	return count;
}

size_t hooks_read(struct hook *hooks, size_t functions_at, bool *is_listed)
{
	struct scan scan = {.tracepoints = calloc(TRACEPOINTS_MOST, sizeof(*scan.tracepoints))};
	int listed = -1;
	size_t count;

	*is_listed = false;
	if (!scan.tracepoints)
		return 0;
	kallsyms_each(find, &scan);
	if (functions_at)
		listed = read_tracepoints(hooks, &scan, functions_at);
	*is_listed = listed >= 0;
	count = listed < 0 ? 0 : (size_t)listed;
	if (scan.calls_returns && count < HOOKS_MOST) {
		memset(&hooks[count], 0, sizeof(hooks[count]));
		snprintf(hooks[count].at, sizeof(hooks[count].at), "%s", HOOKS_CALLS_RETURNS);
		hooks[count++].address = scan.calls_returns;
	}
	free(scan.tracepoints);
	return count;
}
