// SPDX-License-Identifier: MIT
#include "section_plan.h"

#include <ctype.h>
#include <errno.h>
#include <linux/btf.h>
#include <string.h>
#include <unistd.h>

#include "activations/section_code.h"
#include "bpf/kernel_btf.h"
#include "failure.h"
#include "section_own.h"
#include "section_spins.h"

/* Rows of a CPU, and bytes of all CPUs' rows together. */
#define ROWS_MOST  (1u << 15)
#define ROWS_LEAST (1u << 11)
#define BYTES_MOST ((uint64_t)64 << 20)
/* linux/bpf.h: BPF_F_USER_STACK */
#define USER_STACK 0x100u
/* is_of - whether a name is not empty, and alphanumeric but for these */
static bool is_of(const char *name, const char *others)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr(others, *name))
			return false;
	return true;
}

/* is_plain - whether a name is one that the kernel gives: a function or SYSTEM:TRACEPOINT */
static bool is_plain(const char *name)
{
	return is_of(name, "_.:-");
}

/* is_printed - whether a name of user code is of characters that names have */
static bool is_printed(const char *name)
{
	for (; *name; name++)
		if (!isgraph((unsigned char)*name))
			return false;
	return true;
}

/* take_places - copy the names of where a section begins and ends, and check them; false: they are
 * none */
static bool take_places(struct section_names *names, const struct wire_section *asked)
{
	const char *begin = names->begin, *end = names->end;

	if (!wire_copy_text(asked->begin, names->begin, sizeof(names->begin)) ||
	    !wire_copy_text(asked->end, names->end, sizeof(names->end)) ||
	    !wire_copy_text(asked->file, names->file, sizeof(names->file)))
		return false;
	if (asked->kind == SECTION_USER)
		return *begin && *names->file && is_printed(begin) && is_printed(end);
	if (asked->kind == SECTION_FUNCTION && *end)
		return is_of(begin, "_.+") && is_of(end, "_.+");
	return is_plain(begin) && (asked->kind == SECTION_TRACEPOINTS) == is_plain(end);
}

/* name_arguments - copy the names of arguments, and check them; returns 0, or an errno with the
 * text
 */
static int name_arguments(struct section_names *names, const struct wire_section *asked,
			  struct section_plan *plan, char *text)
{
	struct wire_list conditions = asked->arguments;
	struct section_arguments *arguments = &plan->arguments;
	bool are_paired = asked->key == PAIRED_BY_ARGUMENT;
	char (*name)[SECTION_ARGUMENT] = names->arguments;

	if (asked->arguments.count > SECTION_CONDITIONS ||
	    asked->arguments.count != asked->values.count)
		return fail(text, EINVAL, "more conditions than can be asked for");
	for (uint16_t i = 0; i < 2 + asked->arguments.count; i++, name++) {
		struct wire_bytes word = i == 0	  ? asked->begin_argument
					 : i == 1 ? asked->end_argument
						  : wire_list_next_str(&conditions);

		if (!wire_copy_text(word, *name, sizeof(*name)) ||
		    ((i > 1 || are_paired) && !is_plain(*name)))
			return fail(text, EINVAL, "no name of an argument");
	}
	arguments->begin = names->arguments[0];
	arguments->end = names->arguments[1];
	for (uint16_t i = 0; i < asked->arguments.count; i++) {
		arguments->conditions[i] = names->arguments[2 + i];
		plan->config.conditions[i].value = wire_list_u64(asked->values, i);
	}
	plan->config.condition_count = asked->arguments.count;
	return 0;
}

/* find_argument - find an argument of a tracepoint by its name; returns 0, or an errno with the
 * text
 */
static int find_argument(const char *tracepoint, const char *name, struct kernel_argument *argument,
			 char *text)
{
	const char *colon = strchr(tracepoint, ':');
	int error = kernel_btf_argument(colon ? colon + 1 : tracepoint, name, argument);

	if (error == ESRCH)
		return fail(text, error, "%s has no argument %s", tracepoint, name);
	return error ? fail(text, error, "arguments are not known: no BTF of this kernel: %s",
			    strerror(error))
		     : 0;
}

/* find_arguments - find the arguments that pair a beginning with its end, and those that it must
 * have; returns 0, or an errno with the text */
static int find_arguments(const struct section_plan *plan, struct section_config *config,
			  char *text)
{
	const struct section_arguments *names = &plan->arguments;
	struct kernel_argument argument;
	int error;

	if (config->key == PAIRED_BY_ARGUMENT) {
		error = find_argument(plan->begin, names->begin, &argument, text);
		if (error)
			return error;
		config->begin_argument = argument.number;
		error = find_argument(plan->end, names->end, &argument, text);
		if (error)
			return error;
		config->end_argument = argument.number;
	}
	for (size_t i = 0; i < config->condition_count; i++) {
		error = find_argument(plan->begin, names->conditions[i], &argument, text);
		if (error)
			return error;
		config->conditions[i].argument = argument.number;
		config->conditions[i].bytes = argument.bytes;
	}
	return 0;
}

/* take_arguments - take the arguments of tracepoints; returns 0, or an errno with the text */
static int take_arguments(struct section_names *names, const struct wire_section *asked,
			  struct section_plan *plan, char *text)
{
	int error = name_arguments(names, asked, plan, text);

	/* Trace events have fields of these names. */
	if (error || plan->hook == HOOK_TRACE_EVENT)
		return error;
	error = find_arguments(plan, &plan->config, text);
	if (!error || error == ESRCH || plan->hook)
		return error;
	/* Without BTF nothing else has arguments. */
	plan->hook = HOOK_TRACE_EVENT;
	return 0;
}

/* are_tracepoints - whether a kernel has tracepoints of both names, which have no system */
static bool are_tracepoints(const char *begin, const char *end)
{
	struct kernel_name names[] = {{"btf_trace_", begin, BTF_KIND_TYPEDEF, 0, 0, NULL},
				      {"btf_trace_", end, BTF_KIND_TYPEDEF, 0, 0, NULL}};

	return !kernel_btf_find(names, 2) && names[0].id && names[1].id;
}

int section_plan_take(struct section_names *names, const struct wire_section *asked,
		      struct section_plan *plan, char *text)
{
	struct section_config *config = &plan->config;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int error;

	*plan = (struct section_plan){
	    .kind = asked->kind,
	    .hook = asked->hook,
	    .begin = names->begin,
	    .end = names->end,
	    .file = names->file,
	    .cpu_limit = (uint16_t)(cpus < (long)WIRE_MOST_CPUS ? cpus : (long)WIRE_MOST_CPUS),
	    .rows = ROWS_MOST,
	    .config = {.tgid = asked->pid,
		       .key = asked->key,
		       .has_comm = asked->comm.length > 0,
		       .keeps_locks = (asked->locks & GROUPS_LOCKS) != 0,
		       .keeps_paths = (asked->locks & GROUPS_PATHS) != 0,
		       /* Of which thread the CPU is says who is seen there. */
		       .keeps_samples =
			   (asked->locks & GROUPS_SAMPLES) && asked->key == PAIRED_BY_THREAD,
		       .path_flags = asked->kind == SECTION_USER ? USER_STACK : 0,
		       .treatment = asked->treatment},
	};
	while (plan->rows > ROWS_LEAST &&
	       plan->rows * sizeof(struct section_row) * plan->cpu_limit > BYTES_MOST)
		plan->rows /= 2;
	if (!take_places(names, asked))
		return fail(text, EINVAL, "no name of a function or tracepoint");
	if (!wire_copy_text(asked->comm, config->comm, sizeof(config->comm)))
		return fail(text, EINVAL, "no name of a thread");
	config->return_pops = KERNEL_RETURN_POPS;
	if (plan->kind == SECTION_FUNCTION && *plan->end && plan->hook != HOOK_KPROBE &&
	    are_tracepoints(plan->begin, plan->end)) {
		plan->kind = SECTION_TRACEPOINTS;
		/* A trace event needs its system. */
		plan->hook = HOOK_BEST;
	}
	if (plan->kind == SECTION_FUNCTION && *plan->end) {
		error = section_own_refuse(plan->begin, plan->end, text);
		if (error)
			return error;
	}
	if (config->keeps_samples)
		section_spins_find(config->spins);
	error = section_code_find(plan, text);
	if (error)
		return error;
	return asked->kind == SECTION_TRACEPOINTS ? take_arguments(names, asked, plan, text) : 0;
}
