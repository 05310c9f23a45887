// SPDX-License-Identifier: MIT
#include "hooks.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bpf/kernel_btf.h"
#include "bpf/kprobe.h"
#include "bpf/multi.h"
#include "bpf/symbol.h"
#include "section/bpf/programs.h"
#include "failure.h"

#define LOG_SIZE (16u << 10)
/* The kernel's own names have 511 bytes at the most. */
#define LONGEST_FUNCTION 512

static int load_program(const struct section *section, size_t number, const struct bpf_load_as *as,
			char *text)
{
	char *log = malloc(LOG_SIZE);
	int fd, error;

	if (!log) {
		errno = ENOMEM;
		return -1;
	}
	log[0] = '\0';
	fd = bpf_program_load(&programs[number], &section->fds, as, log, LOG_SIZE);
	error = errno;
	if (fd < 0)
		fail(text, error, "%s: %s%s%s", programs[number].name, strerror(error),
		     log[0] ? ": " : "", bpf_log_reason(log));
	free(log);
	errno = error;
	return fd;
}

/* load_both - load two programs as that; returns 0, or an errno with the text */
static int load_both(struct section *section, const size_t numbers[2],
		     const struct bpf_load_as as[2], char *text)
{
	section->end_program = load_program(section, numbers[1], &as[1], text);
	if (section->end_program < 0)
		return errno;
	section->begin_program = load_program(section, numbers[0], &as[0], text);
	return section->begin_program < 0 ? errno : 0;
}

/* How the programs of probes are loaded. */
static const struct bpf_load_as as_probes[2] = {{BPF_PROG_TYPE_KPROBE, 0, 0},
						{BPF_PROG_TYPE_KPROBE, 0, 0}};

static int program_at(const struct section *section, bool at_end)
{
	return at_end ? section->end_program : section->begin_program;
}

/* ---------------------------------------------------------------- fentry, fexit */

static int fentry_load(struct section *section, char *text)
{
	static const size_t numbers[2] = {PROGRAM_FUNCTION_ENTRY, PROGRAM_FUNCTION_EXIT};
	struct kernel_name name = {"", section->plan.begin, BTF_KIND_FUNC, 0, 0, NULL};
	int error = kernel_btf_find(&name, 1);

	if (error)
		return fail(text, error, "no BTF of this kernel: %s", strerror(error));
	if (!name.id)
		return fail(text, ENOENT, "BTF has no function of that name");
	return load_both(section, numbers,
			 (struct bpf_load_as[]){{BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, name.id},
						{BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, name.id}},
			 text);
}

static int fentry_attach(const struct section *section, bool at_end, size_t number)
{
	(void)number;
	return bpf_tracepoint_attach(program_at(section, at_end), NULL);
}

/* ---------------------------------------------------------------- fprobes: session, multi */

/* How many returns are watched for at a time, where the kernel has a pool for that: of a few
 * addresses it would have room for a few. */
#define RETURNS_WATCHED 1024u

/* find_multi - find what the kernel has of fprobes, and the function; returns 0, or an errno with
 * the text */
static int find_multi(struct section *section, struct bpf_multi *multi, char *text)
{
	uint32_t cpus = section->plan.cpu_limit;
	int error = bpf_multi_find(multi);
	unsigned count;

	if (error)
		return fail(text, error, "no BTF of this kernel: %s", strerror(error));
	if (!multi->is_there)
		return fail(text, EOPNOTSUPP, "this kernel has none (CONFIG_FPROBE, Linux 5.18)");
	count = symbol_find(section->plan.begin, &section->address);
	if (count > 1)
		return fail(text, EADDRNOTAVAIL, "several functions have that name");
	section->address_times = multi->has_pool ? 1 + RETURNS_WATCHED / (2 * cpus) : 1;
	return 0;
}

/* session_load - load the one program that runs at both; the beginning's */
static int session_load(struct section *section, char *text)
{
	struct bpf_multi multi;
	int error = find_multi(section, &multi, text);

	if (error)
		return error;
	if (!multi.cookie || !multi.is_return)
		return fail(text, EOPNOTSUPP, "this kernel has none (Linux 6.10)");
	section->fds.session_cookie = multi.cookie;
	section->fds.session_is_return = multi.is_return;
	section->begin_program =
	    load_program(section, PROGRAM_PROBE_SESSION,
			 &(struct bpf_load_as){BPF_PROG_TYPE_KPROBE, ATTACH_SESSION, 0}, text);
	return section->begin_program < 0 ? errno : 0;
}

static size_t session_count(const struct section *section, bool at_end)
{
	(void)section;
	return !at_end;
}

static int session_attach(const struct section *section, bool at_end, size_t number)
{
	(void)number;
	return bpf_multi_attach(&(struct bpf_multi_place){section->plan.begin, section->address,
							  section->address_times, ATTACH_SESSION,
							  false},
				program_at(section, at_end));
}

/* check_places - whether registers at a return say where on the stack it is */
static int check_places(char *text)
{
	if (KERNEL_RETURN_HAS_PLACE)
		return 0;
	return fail(text, EOPNOTSUPP,
		    "where on the stack a function returns is not shown on this architecture: it "
		    "takes fentry");
}

static int multi_load(struct section *section, char *text)
{
	static const size_t numbers[2] = {PROGRAM_PROBE_ENTRY, PROGRAM_PROBE_RETURN};
	struct bpf_multi multi;
	int error = check_places(text);

	if (!error)
		error = find_multi(section, &multi, text);
	if (error)
		return error;
	if (!multi.has_pool)
		return fail(text, EOPNOTSUPP,
			    "from Linux 6.14 on a return does not say where on the stack it is: "
			    "use kprobe-session");
	return load_both(section, numbers,
			 (struct bpf_load_as[]){{BPF_PROG_TYPE_KPROBE, ATTACH_MULTI, 0},
						{BPF_PROG_TYPE_KPROBE, ATTACH_MULTI, 0}},
			 text);
}

static int multi_attach(const struct section *section, bool at_end, size_t number)
{
	(void)number;
	return bpf_multi_attach(&(struct bpf_multi_place){section->plan.begin, section->address,
							  at_end ? section->address_times : 1,
							  ATTACH_MULTI, at_end},
				program_at(section, at_end));
}

/* ---------------------------------------------------------------- kprobe, kretprobe */

static int kprobe_load(struct section *section, char *text)
{
	static const size_t numbers[2] = {PROGRAM_PROBE_ENTRY, PROGRAM_PROBE_RETURN};
	int error;

	if (!bpf_kprobe_type())
		return fail(text, EOPNOTSUPP, "this kernel has none (CONFIG_KPROBE_EVENTS)");
	error = check_places(text);
	return error ? error : load_both(section, numbers, as_probes, text);
}

static int kprobe_attach(const struct section *section, bool at_end, size_t number)
{
	(void)number;
	return bpf_kprobe_attach(&(struct bpf_kprobe){.type = bpf_kprobe_type(),
						      .name = section->plan.begin,
						      .at_return = at_end},
				 program_at(section, at_end));
}

/* ---------------------------------------------------------------- places in the kernel */

static bool is_next(const struct section *section)
{
	return !strcmp(section->plan.begin, section->plan.end);
}

/* load_places - load the programs of two places, of which begin is that of the first; or of one
 * place, to its next time */
static int load_places(struct section *section, size_t begin, bool to_next, char *text)
{
	if (!to_next)
		return load_both(section, (const size_t[]){begin, PROGRAM_PROBE_END}, as_probes,
				 text);
	section->begin_program = load_program(section, PROGRAM_PROBE_NEXT, &as_probes[0], text);
	return section->begin_program < 0 ? errno : 0;
}

static int place_load(struct section *section, char *text)
{
	if (!bpf_kprobe_type())
		return fail(text, EOPNOTSUPP, "this kernel has none (CONFIG_KPROBE_EVENTS)");
	return load_places(section, PROGRAM_PROBE_BEGIN, is_next(section), text);
}

static size_t place_count(const struct section *section, bool at_end)
{
	return !(at_end && is_next(section));
}

/* place_attach - at "FUNCTION", "FUNCTION+0xBYTES" or "0xADDRESS" */
static int place_attach(const struct section *section, bool at_end, size_t number)
{
	const char *place = at_end ? section->plan.end : section->plan.begin;
	struct bpf_kprobe at = {.type = bpf_kprobe_type()};
	size_t length = strcspn(place, "+");
	char name[LONGEST_FUNCTION];

	(void)number;
	if (length >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (!strncmp(place, "0x", 2)) {
		at.address = strtoull(place, NULL, 16);
	} else {
		memcpy(name, place, length);
		name[length] = '\0';
		at.name = name;
		at.address = place[length] ? strtoull(place + length + 1, NULL, 0) : 0;
	}
	return bpf_kprobe_attach(&at, program_at(section, at_end));
}

/* ---------------------------------------------------------------- tracepoints */

static int tracepoint_load(struct section *section, char *text)
{
	static const size_t numbers[2] = {PROGRAM_PAIR_BEGIN, PROGRAM_PAIR_END};

	return load_both(section, numbers,
			 (struct bpf_load_as[]){{BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0},
						{BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0}},
			 text);
}

static int tracepoint_attach(const struct section *section, bool at_end, size_t number)
{
	const char *name = at_end ? section->plan.end : section->plan.begin;
	const char *colon = strchr(name, ':');

	(void)number;
	return bpf_tracepoint_attach(program_at(section, at_end), colon ? colon + 1 : name);
}

/* ---------------------------------------------------------------- user code: uprobes */

static int uprobe_load(struct section *section, char *text)
{
	const struct user_code *code = &section->user;
	size_t begin = section->plan.config.treatment == TREATMENT_PREFETCH
			   ? PROGRAM_PROBE_BEGIN_CODE
			   : PROGRAM_PROBE_BEGIN;

	if (!bpf_uprobe_type())
		return fail(text, EOPNOTSUPP, "this kernel has none (CONFIG_UPROBE_EVENTS)");
	if (code->is_function)
		return load_both(section,
				 (const size_t[]){PROGRAM_PROBE_ENTRY, PROGRAM_PROBE_RETURN},
				 as_probes, text);
	return load_places(section, begin, code->is_next, text);
}

/* places_at - the places of the end, or of the beginning; NULL: there are none */
static const struct user_places *places_at(const struct section *section, bool at_end)
{
	const struct user_code *code = &section->user;

	if (code->is_next && at_end)
		return NULL;
	return at_end && !code->is_function ? &code->end : &code->begin;
}

static size_t uprobe_count(const struct section *section, bool at_end)
{
	const struct user_places *places = places_at(section, at_end);

	return places ? places->count : 0;
}

static int uprobe_attach(const struct section *section, bool at_end, size_t number)
{
	const struct user_place *place = &places_at(section, at_end)->at[number];

	return bpf_kprobe_attach(
	    &(struct bpf_kprobe){.type = bpf_uprobe_type(),
				 .name = section->user.path,
				 .address = place->offset,
				 .at_return = at_end && section->user.is_function,
				 .counter = place->counter,
				 .pid = section->plan.config.tgid},
	    program_at(section, at_end));
}

/* ---------------------------------------------------------------- all */

static const struct section_method fentry = {HOOK_FENTRY, "fentry", fentry_load, fentry_attach,
					     NULL};
static const struct section_method session = {HOOK_KPROBE_SESSION, "kprobe session", session_load,
					      session_attach, session_count};
static const struct section_method multi = {HOOK_KPROBE_MULTI, "kprobe multi", multi_load,
					    multi_attach, NULL};
static const struct section_method kprobe = {HOOK_KPROBE, "kprobe", kprobe_load, kprobe_attach,
					     NULL};
static const struct section_method place = {HOOK_KPROBE, "kprobe", place_load, place_attach,
					    place_count};
static const struct section_method tracepoint = {HOOK_TRACEPOINT, "tracepoint", tracepoint_load,
						 tracepoint_attach, NULL};
static const struct section_method uprobe = {HOOK_UPROBE, "uprobe", uprobe_load, uprobe_attach,
					     uprobe_count};

static const struct section_method *const of_function[] = {&fentry, &session, &multi, &kprobe,
							   NULL};
static const struct section_method *const of_places[] = {&place, NULL};
static const struct section_method *const of_tracepoints[] = {&tracepoint, NULL};
static const struct section_method *const of_user_code[] = {&uprobe, NULL};

const struct section_method *const *section_methods(enum section_kind kind, bool is_pair)
{
	if (kind == SECTION_USER)
		return of_user_code;
	if (kind == SECTION_FUNCTION && is_pair)
		return of_places;
	return kind == SECTION_FUNCTION ? of_function : of_tracepoints;
}

bool section_hook_counts_missed(enum section_hook kind)
{
	unsigned major = 0, minor = 0;
	struct utsname names;

	/* Of their events perf tells nothing, */
	if (kind == HOOK_KPROBE)
		return false;
	if (kind != HOOK_KPROBE_MULTI)
		return true;
	/* and links of these do since 6.7. */
	uname(&names);
	return sscanf(names.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 7));
}
