// SPDX-License-Identifier: MIT
/*
 * Functions: the kernel has an empty one for tests of BPF, which it calls when a program of the
 * kind for functions is run as a test. So it is called as often as asked for, on any board with
 * BTF. Kprobe events have another one, which the kernel calls for an unknown system call. After it
 * comes a second one: from the entry of the one to the entry of the other is an empty section, too.
 *
 * Tracepoints: both programs are attached to the same one, the beginning first. The end runs right
 * after it, so that nothing lies between but the hooks themselves.
 *
 * User code: the probe's own file has an empty function, whose first instructions do nothing. The
 * kernel does such an instruction itself, or runs a copy of it, as it does with those of a section:
 * what takes longer there is not in the floor.
 */
#include "floor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/kernel_btf.h"
#include "clock.h"
#include "failure.h"
#include "section/bpf/programs.h"
#include "section/elf.h"

#define EMPTY  "bpf_fentry_test1"
#define SECOND "bpf_fentry_test2"
/* What the kernel calls for a system call that it does not have, such as this one. */
#if defined(__riscv)
#define NO_CALL_FUNCTION "__riscv_sys_ni_syscall"
#else
#define NO_CALL_FUNCTION "sys_ni_syscall"
#endif
#if defined(__x86_64__)
#define NO_CALL 174 /* create_module */
#elif defined(__aarch64__)
#define NO_CALL 250 /* the architecture's own, of which it has none */
#elif defined(__riscv)
#define NO_CALL 244 /* the architecture's own: it has two, which come later */
#else
#define NO_CALL 17 /* break */
#endif
#define TRACEPOINT "raw_syscalls:sys_enter"
#define OWN_FILE   "/proc/self/exe"
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
#define HAS_EMPTY_CODE true
__asm__(".pushsection .text\n\t.balign 64\n"
	".globl section_empty_begin\n\t.type section_empty_begin, %function\n"
	"section_empty_begin:\n\tnop\n"
	".globl section_empty_end\n"
	"section_empty_end:\n\tnop\n\tret\n"
	"\t.size section_empty_begin, . - section_empty_begin\n\t.popsection");
void section_empty_begin(void);
void section_empty_end(void);
#else
#define HAS_EMPTY_CODE false
static void section_empty_begin(void)
{
}

static void section_empty_end(void)
{
}
#endif
#define CALLS 2000u
#define ROWS  4096u

/* What calls the empty section. */
struct caller {
	int program;	    /* -1: none; a system call does, */
	long number;	    /* of that number, */
	void (*code)(void); /* or this is called; NULL: not */
	bool is_empty;	    /* it does nothing else */
};

/* open_caller - load a program whose test runs call the empty function */
static int open_caller(const struct section *section, struct caller *caller, char *text)
{
	struct kernel_name name = {"", EMPTY, BTF_KIND_FUNC, 0, 0, NULL};
	struct bpf_load_as as = {BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0};
	static const struct bpf_insn nothing[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	int error;

	*caller = (struct caller){-1, SYS_getppid, NULL, false};
	if (section->plan.kind == SECTION_USER) {
		caller->code = section_empty_begin;
		caller->is_empty = true;
		return 0;
	}
	if (section->plan.kind != SECTION_FUNCTION)
		return 0;
	caller->is_empty = true;
	if (section->tracing) {
		caller->number = NO_CALL;
		return 0;
	}
	error = kernel_btf_find(&name, 1);
	if (error || !name.id)
		return fail(text, ENOENT, "this kernel has no empty function to call (%s)", EMPTY);
	as.id = name.id;
	caller->program = bpf_load_instructions(nothing, sizeof(nothing) / sizeof(nothing[0]), &as);
	return caller->program < 0 ? fail(text, errno, "%s: %s", EMPTY, strerror(errno)) : 0;
}

static int call(const struct caller *caller)
{
	union bpf_attr arguments;

	if (caller->code) {
		caller->code();
		return 0;
	}
	if (caller->program < 0) {
		syscall(caller->number);
		return 0;
	}
	memset(&arguments, 0, sizeof(arguments));
	arguments.test.prog_fd = (uint32_t)caller->program;
	return bpf_call(BPF_PROG_TEST_RUN, &arguments, sizeof(arguments)) ? errno : 0;
}

static int compare(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

/* middle_of - return the median of numbers, which it sorts; 0 of none */
static uint64_t middle_of(uint64_t *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare);
	return count ? numbers[count / 2] : 0;
}

/* median_of - set the median of the durations that were recorded */
static int median_of(const struct section *section, struct section_floor *floor, char *text)
{
	uint64_t *durations = calloc((size_t)ROWS * section->plan.cpu_limit, sizeof(*durations));
	size_t count = 0;

	if (!durations)
		return fail(text, ENOMEM, "no memory for the floor");
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		uint64_t rows = section_cpu_at(section, i)->rows;

		for (uint64_t row = rows > ROWS ? rows - ROWS : 0; row < rows; row++)
			durations[count++] = section_row_at(section, i, row)->duration_ns;
	}
	floor->executions = (uint32_t)count;
	floor->floor_ns = middle_of(durations, count);
	free(durations);
	return count ? 0 : fail(text, ENODATA, "its executions were not seen");
}

/* count_medians - set the median of each counter, of executions that have counts */
static int count_medians(const struct section *section, struct section_floor *floor, char *text)
{
	uint64_t *counts = calloc((size_t)ROWS * section->plan.cpu_limit, sizeof(*counts));

	if (!counts)
		return fail(text, ENOMEM, "no memory for the floor");
	for (size_t counter = 0; counter < section->plan.config.counter_count; counter++) {
		size_t count = 0;

		for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
			uint64_t rows = section_cpu_at(section, i)->rows;

			for (uint64_t row = rows > ROWS ? rows - ROWS : 0; row < rows; row++)
				if (section_row_at(section, i, row)->count_state == COUNTS_OWN)
					counts[count++] =
					    section_row_at(section, i, row)->counts[counter];
		}
		floor->counted = (uint32_t)count;
		floor->counts[counter] = middle_of(counts, count);
	}
	free(counts);
	return 0;
}

/* Times of calls, with hooks and without. */
struct calls {
	uint64_t with_ns[2 * CALLS];
	uint64_t without_ns[2 * CALLS];
};

/* call_often - time CALLS calls; returns 0 or an errno */
static int call_often(const struct caller *caller, uint64_t *took_ns)
{
	int error = 0;

	for (unsigned i = 0; i < CALLS && !error; i++) {
		uint64_t began_ns = clock_ns();

		error = call(caller);
		took_ns[i] = clock_ns() - began_ns;
	}
	return error;
}

/* take_turns - call with hooks and without, block by block; works: the hooks can be attached */
static int take_turns(struct section *section, const struct caller *caller, bool by_turns,
		      struct calls *calls, bool *works, char *text)
{
	/* Caches are warm by then. */
	int error = call_often(caller, calls->without_ns);

	for (unsigned i = 0; i < (by_turns ? 2 : 1) && !error; i++) {
		error = section_attach(section, text);
		if (error)
			return error;
		*works = true;
		error = call_often(caller, calls->with_ns + i * CALLS);
		section_detach(section);
		while (!section_gather(section))
			continue;
		if (by_turns && !error)
			error = call_often(caller, calls->without_ns + i * CALLS);
	}
	return error ? fail(text, error, "calling an empty section: %s", strerror(error)) : 0;
}

/* measure - measure an empty section */
static int measure(struct section *section, const struct caller *caller, bool by_turns, bool *works,
		   struct section_floor *floor, char *text)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int error = calls ? take_turns(section, caller, by_turns, calls, works, text)
			  : fail(text, ENOMEM, "no memory for the floor");

	if (!error)
		error = median_of(section, floor, text);
	if (!error)
		error = count_medians(section, floor, text);
	if (!error && by_turns) {
		floor->with_ns = middle_of(calls->with_ns, 2 * CALLS);
		floor->without_ns = middle_of(calls->without_ns, 2 * CALLS);
	}
	free(calls);
	return error;
}

/* measure_plan - measure an empty section by that plan; returns 0, or an errno with the text, which
 * is one of the hook where it does not work */
static int measure_plan(const struct section_plan *plan, bool by_turns, bool *works,
			struct section_floor *floor, char *text)
{
	struct caller caller;
	struct section empty;
	int error = section_open(&empty, plan, text);

	if (error)
		return error;
	error = open_caller(&empty, &caller, text);
	/* A system call itself takes longer where it has a tracepoint. */
	if (!error)
		error = measure(&empty, &caller, by_turns && caller.is_empty, works, floor, text);
	if (caller.program >= 0)
		close(caller.program);
	section_close(&empty);
	return error;
}

/* empty_plan - the plan of an empty section of that kind */
static struct section_plan empty_plan(enum section_kind kind, enum section_hook hook)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return (struct section_plan){
	    .kind = kind,
	    .hook = hook,
	    .begin = kind != SECTION_FUNCTION	 ? TRACEPOINT
		     : hook == HOOK_KPROBE_EVENT ? NO_CALL_FUNCTION
						 : EMPTY,
	    .end = kind == SECTION_FUNCTION ? "" : TRACEPOINT,
	    .cpu_limit = (uint16_t)(cpus < (long)WIRE_MOST_CPUS ? cpus : (long)WIRE_MOST_CPUS),
	    .rows = ROWS,
	    .is_empty = true,
	    .config = {.tgid = (uint32_t)getpid(), .return_pops = KERNEL_RETURN_POPS},
	};
}

/* has_no_empty - why no empty section is like that one; NULL: one is */
static const char *has_no_empty(const struct section *section)
{
	const struct section_plan *plan = &section->plan;
	bool is_pair = plan->kind == SECTION_FUNCTION && *plan->end;

	if (plan->kind == SECTION_USER && !HAS_EMPTY_CODE)
		return "the probe has no empty code for this processor";
	/* From a USDT probe to its next time. */
	if (plan->kind == SECTION_USER &&
	    (*plan->end ? !strcmp(plan->begin, plan->end) : strchr(plan->begin, ':') != NULL))
		return "from a place to its next time nothing is empty";
	if (plan->kind == SECTION_USER)
		return NULL;
	if (section->tracing && (is_pair || plan->kind == SECTION_TRACEPOINTS))
		return is_pair ? "the kernel calls no two empty functions without BPF"
			       : "a tracepoint has one trace event, and not two";
	if (is_pair && (strpbrk(plan->begin, "+") || strpbrk(plan->end, "+") ||
			!strncmp(plan->begin, "0x", 2) || !strncmp(plan->end, "0x", 2)))
		return "a hook within a function takes as long as the kernel takes for the "
		       "instruction there, which differs";
	if (is_pair && !strcmp(plan->begin, plan->end))
		return "from a place to its next time nothing is empty";
	return NULL;
}

/* own_offset - find where in its file code of the probe is; returns 0, or an errno */
static int own_offset(uint64_t address, uint64_t *offset)
{
	struct user_code code = {.fd = -1};
	char reason[FAILURE_TEXT];
	struct elf elf = {.fd = -1};
	int error = user_code_open_file(&code, OWN_FILE, 0, reason);

	if (!error)
		error = elf_open(&elf, code.fd, reason);
	if (!error && !elf_offset(&elf, address, true, offset))
		error = ENOENT;
	elf_close(&elf);
	user_code_close(&code);
	return error;
}

/* plan_own_code - let a section be of the probe's own file: of the function at an address, or, with
 * bytes, from there to so many bytes behind it. Returns 0, or an errno with the text */
static int plan_own_code(struct section_plan *plan, char places[2][24], uint64_t address,
			 uint64_t bytes, char *text)
{
	uint64_t offset;
	int error = own_offset(address, &offset);

	if (error)
		return fail(text, error, "the probe's own file: %s", strerror(error));
	snprintf(places[0], sizeof(places[0]), "0x%" PRIx64, offset);
	snprintf(places[1], sizeof(places[1]), "0x%" PRIx64, offset + bytes);
	plan->config.tgid = 0; /* whose root directory the file would be in */
	plan->file = OWN_FILE;
	plan->begin = places[0];
	plan->end = bytes ? places[1] : "";
	return 0;
}

int floor_measure(const struct section *section, bool by_turns, struct section_floor *floor,
		  char *text)
{
	struct section_plan plan = empty_plan(section->plan.kind, section_hook_kind(section));
	const char *reason = has_no_empty(section);
	char places[2][24];
	bool works = false;

	if (section->plan.kind == SECTION_FUNCTION && *section->plan.end)
		plan.end = SECOND;
	plan.cpu_limit = section->plan.cpu_limit;
	plan.counts_of = section;
	plan.config.counter_count = section->plan.config.counter_count;
	/* The hooks at the empty function run as many instructions as the section's: nobody else
	 * calls it, and whose call it is need not be looked at. */
	if (plan.kind == SECTION_FUNCTION && !section->tracing && !section->plan.config.tgid)
		plan.config.tgid = 0;
	*floor = (struct section_floor){0};
	if (reason)
		return fail(text, EOPNOTSUPP, "%s", reason);
	if (plan.kind == SECTION_USER) {
		uint64_t begin = (uintptr_t)section_empty_begin;
		uint64_t bytes = *section->plan.end ? (uintptr_t)section_empty_end - begin : 0;
		int error = plan_own_code(&plan, places, begin, bytes, text);

		if (error)
			return error;
	}
	return measure_plan(&plan, by_turns, &works, floor, text);
}

/* try_to_open - open a section, and close it; returns 0, or an errno with the text */
static int try_to_open(const struct section_plan *plan, char *text)
{
	struct section section;
	int error = section_open(&section, plan, text);

	if (!error)
		section_close(&section);
	return error;
}

/* try_user_code - try uprobes where nothing comes by; returns 0, or an errno with the text */
static int try_user_code(char *text)
{
	struct section_plan plan = empty_plan(SECTION_USER, HOOK_UPROBE);
	char places[2][24];
	/* Code that is not called again. */
	int error = plan_own_code(&plan, places, getauxval(AT_ENTRY) & ~UINT64_C(3), 0, text);

	if (error)
		return error;
	plan.is_empty = false; /* it is attached as it is opened */
	return try_to_open(&plan, text);
}

int floor_of_hook(enum section_kind kind, enum section_hook hook, struct section_floor *floor,
		  char *text)
{
	struct section_plan plan = empty_plan(kind, hook);
	bool works = false;
	int error;

	*floor = (struct section_floor){0};
	if (kind == SECTION_USER)
		return try_user_code(text);
	if (hook == HOOK_TRACE_EVENT)
		return try_to_open(&plan, text);
	error = measure_plan(&plan, true, &works, floor, text);
	/* Where the kernel runs the hook for few of the calls, these are no usual ones. */
	if (error || floor->executions < CALLS)
		*floor = (struct section_floor){0};
	return works ? 0 : error;
}
