// SPDX-License-Identifier: MIT
#include "switch_hooks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_peek.h"
#include "kallsyms.h"

/* The kernel's struct tracepoint_func: a function, its data, its priority; a function of 0 is last.
 */
#define FUNCTION_SIZE 24
/* As many are looked at; more than the kernel and its users ever have at one tracepoint. */
#define FUNCTIONS_MOST 32

static int compare_addresses(const void *first, const void *second)
{
	const struct symbol *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

/* read_functions - read the addresses of all functions; returns how many, -1 where refused */
static int read_functions(int program, uint64_t tracepoint, size_t functions_at,
			  struct symbol *functions)
{
	uint64_t list, address;
	int count = 0;

	if (!bpf_peek(program, tracepoint + functions_at, &list))
		return -1;
	while (list && count < FUNCTIONS_MOST) {
		if (!bpf_peek(program, list + (uint64_t)count * FUNCTION_SIZE, &address))
			return -1;
		if (!address)
			break;
		functions[count++].address = address;
	}
	return count;
}

/* add_hook - add a function that is not the kernel's own */
static bool add_hook(struct switch_hook *hook, const struct symbol *function)
{
	int length = (int)strcspn(function->name, "+");

	/* What calls a program, whoever's it is. */
	if (!strncmp(function->name, "__bpf_trace_", strlen("__bpf_trace_"))) {
		snprintf(hook->name, sizeof(hook->name), "a BPF program");
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

int switch_hooks_read(struct switch_hook *hooks, size_t functions_at)
{
	/* Where the kernel's memory may not be read, its symbols need not be read either. */
	int program = functions_at ? bpf_peek_open() : -1, count = -1, hook_count = 0;
	uint64_t tracepoint = program >= 0 ? kallsyms_find("__tracepoint_sched_switch") : 0;
	struct symbol *functions = calloc(FUNCTIONS_MOST, sizeof(*functions));

	if (functions && tracepoint)
		count = read_functions(program, tracepoint, functions_at, functions);
	if (program >= 0)
		close(program);
	if (count > 0) {
		qsort(functions, (size_t)count, sizeof(*functions), compare_addresses);
		if (!kallsyms_resolve(functions, (size_t)count))
			count = -1;
	}
	for (int i = 0; i < count && hook_count < SWITCH_HOOKS_MOST; i++)
		hook_count += add_hook(&hooks[hook_count], &functions[i]);
	free(functions);
	return count < 0 ? -1 : hook_count;
}
