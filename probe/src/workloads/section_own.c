// SPDX-License-Identifier: MIT
#include "section_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/symbol.h"
#include "failure.h"
#include "recorder/kallsyms.h"
#include "wire/constants.h"

/* How names of such functions begin; the host has the same (run/workloads/section.py). The first
 * ones time executions, the others read a stack or memory for the programs. */
static const char *const own[] = {
    "bpf_",
    "__bpf_",
    "ktime_get",
    "trace_call_bpf",
    "perf_trace_run_bpf",
    "kprobe",
    "rethook",
    "arch_rethook",
    "ftrace_",
    "__x64_sys_bpf",
    "__sys_bpf",
    "copy_from_kernel_nofault",
    "copy_from_user_nofault",
    "get_callchain_",
    "get_perf_callchain",
    "perf_callchain_",
    "arch_stack_walk",
    "unwind_",
    "stack_trace_",
};

static bool is_own(const char *function)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(function, own[i], strlen(own[i])))
			return true;
	return false;
}

/* address_of - where a place lies; 0: in the function that it names, or that is not known, of
 * which `functions` then are there */
static uint64_t address_of(const char *place, unsigned *functions)
{
	const char *plus = strchr(place, '+');
	char function[WIRE_LONGEST_PLACE + 1];
	uint64_t address = 0;
	size_t length;

	*functions = 1;
	if (!strncmp(place, "0x", 2))
		return strtoull(place, NULL, 16);
	length = plus ? (size_t)(plus - place) : 0;
	if (!length || length >= sizeof(function))
		return 0;
	/* An offset may lead to another function. */
	memcpy(function, place, length);
	function[length] = '\0';
	*functions = symbol_find(function, &address);
	return *functions == 1 ? address + strtoull(plus + 1, NULL, 0) : 0;
}

static int hidden(const char *place, char *text)
{
	return fail(
	    text, EPERM,
	    "%.100s: this kernel has no such function, or hides where its functions are "
	    "(kernel.kptr_restrict), so that it is not known whether that code runs while an "
	    "execution is timed: name the function",
	    place);
}

static int refuse(const char *place, char *text)
{
	unsigned functions;
	struct symbol symbol = {.address = address_of(place, &functions)};

	if (functions > 1)
		return fail(text, EINVAL,
			    "%.100s: %u functions of this kernel have that name, so that it is not "
			    "known which of them this is",
			    place, functions);
	if (!functions)
		return hidden(place, text);
	if (!symbol.address)
		return 0;
	if (!kallsyms_resolve(&symbol, 1))
		return hidden(place, text);
	if (is_own(symbol.name))
		return fail(text, EINVAL,
			    "%.100s lies in %.100s, which runs while an execution is timed: it "
			    "cannot be timed itself",
			    place, symbol.name);
	return 0;
}

int section_own_refuse(const char *begin, const char *end, char *text)
{
	int error = refuse(begin, text);

	return error ? error : refuse(end, text);
}
