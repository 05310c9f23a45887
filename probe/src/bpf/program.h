// SPDX-License-Identifier: MIT
/* A BPF program as tools/bpfgen.py writes it, and loading it. */
#ifndef WHYLATE_BPF_PROGRAM_H
#define WHYLATE_BPF_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the loader puts in place of an address in a program. */
enum bpf_place_kind {
	PLACE_MAP,	/* a map */
	PLACE_VALUE,	/* the only value of a map: constants, where that is frozen */
	PLACE_VARIABLE, /* a variable of the kernel's */
};

#define PLACES_MOST 8

struct bpf_place {
	uint32_t instruction;
	enum bpf_place_kind kind;
	uint32_t number; /* of bpf_fds.at */
};

/* struct bpf_core_relo of linux/bpf.h, which has it since 5.17. */
struct bpf_relocation {
	uint32_t instruction_offset; /* in bytes */
	uint32_t type;
	uint32_t access;
	uint32_t kind;
};

/* struct bpf_func_info of linux/bpf.h. The first is the program, those that it calls follow. */
struct bpf_function {
	uint32_t instruction;
	uint32_t type; /* in the programs' BTF */
};

enum bpf_program_kind {
	KIND_UNTYPED, /* for any tracepoint */
	KIND_TYPED,   /* for its tracepoint alone */
	KIND_PROBE,   /* for the entry or the return of any function, as a kprobe */
	KIND_ENTRY,   /* for the entry of the function that it is loaded for (fentry), */
	KIND_EXIT,    /* or for its return (fexit) */
	KIND_EVENT,   /* for an event that samples */
};

struct bpf_program {
	const char *name;
	const char *tracepoint; /* without its system */
	enum bpf_program_kind kind;
	const uint64_t *instructions;
	uint32_t instruction_count;
	const struct bpf_place *places;
	uint32_t place_count;
	const struct bpf_function *functions;
	uint32_t function_count;
	const struct bpf_relocation *relocations;
	uint32_t relocation_count;
};

/* What a program is linked with. */
struct bpf_fds {
	int btf_fd; /* the programs' own; -1: none */
	/* By the numbers of places: a map's descriptor, -1 where there is none; or the id of a
	 * variable in the kernel's BTF, 0 where it has none of that name. */
	int at[PLACES_MOST];
	uint32_t task_from_pid; /* functions of the kernel's own, by their ids in its BTF; */
	uint32_t task_release;	/* 0: there is none */
	uint32_t session_cookie;
	uint32_t session_is_return;
};

/* As what a program is loaded: of linux/bpf.h */
struct bpf_load_as {
	uint32_t type;	      /* BPF_PROG_TYPE_ */
	uint32_t attach_type; /* BPF_TRACE_, of BPF_PROG_TYPE_TRACING */
	uint32_t id;	      /* of what it is attached to, in the kernel's BTF */
};

/* bpf_program_load - load a program; returns a descriptor, or -1 with errno and the verifier's log.
 * log: may be NULL. */
int bpf_program_load(const struct bpf_program *program, const struct bpf_fds *fds,
		     const struct bpf_load_as *as, char *log, uint32_t log_size);

struct bpf_insn;

/* bpf_load_instructions - load a program that needs nothing of struct bpf_program; returns a
 * descriptor, or -1 with errno */
int bpf_load_instructions(const struct bpf_insn *instructions, uint32_t count,
			  const struct bpf_load_as *as);

/* bpf_reads_kernel - whether programs may read the kernel's memory: lockdown forbids it */
bool bpf_reads_kernel(void);

/* bpf_finds_tasks - whether programs may look a task up by its pid. tracepoint: any that is typed
 */
bool bpf_finds_tasks(const struct bpf_fds *fds, uint32_t tracepoint);

/* bpf_log_reason - return the last line of the verifier's log that is no statistic; the log is cut
 * into its lines */
const char *bpf_log_reason(char *log);

/* bpf_tracepoint_attach - run a program at a tracepoint for as long as the returned descriptor is
 * open; name: NULL where the program has its place. -1 with errno */
int bpf_tracepoint_attach(int program, const char *name);

struct bpf_prog_info;

/* bpf_program_info - ask the kernel what it knows of a program; false where there is none, and then
 * all is 0 */
bool bpf_program_info(int program, struct bpf_prog_info *info);

/* bpf_call - make the system call, whose arguments are the beginning of a union bpf_attr */
long bpf_call(int command, void *arguments, size_t size);

#endif
