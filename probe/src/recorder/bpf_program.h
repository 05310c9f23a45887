// SPDX-License-Identifier: MIT
/* A BPF program as tools/bpfgen.py writes it, and loading it. */
#ifndef WHYLATE_RECORDER_BPF_PROGRAM_H
#define WHYLATE_RECORDER_BPF_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the loader puts in place of an address in a program. */
enum bpf_place_kind {
	PLACE_CPUS,   /* the map of struct recorder_bpf_cpu */
	PLACE_WOKEN,  /* the map of struct recorder_woken */
	PLACE_LEFT,   /* the map of struct recorder_left */
	PLACE_CONFIG, /* struct recorder_config, in its map */
	PLACE_RAISED, /* the kernel's per-CPU list of raised irq_work */
	PLACE_LAZY,   /* that of irq_work that waits for a tick */
	PLACE_RETURN, /* that of notifiers of a return to user code */
};

struct bpf_place {
	uint32_t instruction;
	enum bpf_place_kind kind;
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

struct bpf_program {
	const char *name;
	const char *tracepoint; /* without its system */
	bool is_typed;		/* belongs to that tracepoint; else it fits any */
	bool is_probe;		/* for the entry or the return of any function */
	const uint64_t *instructions;
	uint32_t instruction_count;
	const struct bpf_place *places;
	uint32_t place_count;
	const struct bpf_function *functions;
	uint32_t function_count;
	const struct bpf_relocation *relocations;
	uint32_t relocation_count;
};

/* What a program is linked with. Descriptors are -1 where there is none. */
struct bpf_fds {
	int btf_fd; /* the programs' own */
	int cpus_fd;
	int woken_fd;
	int left_fd;
	int config_fd;
	uint32_t task_from_pid; /* functions of the kernel's own, by their ids in its BTF; */
	uint32_t task_release;	/* 0: there is none */
	/* Variables of the kernel, by their ids in its BTF; 0: it has none of that name. */
	uint32_t raised;
	uint32_t lazy;
	uint32_t returns;
};

/* bpf_program_load - load a program; returns a descriptor, or -1 with errno and the verifier's log.
 * tracepoint: its id in the kernel's BTF, for typed programs alone. log: may be NULL. */
int bpf_program_load(const struct bpf_program *program, const struct bpf_fds *fds,
		     uint32_t tracepoint, char *log, uint32_t log_size);

struct bpf_insn;

/* bpf_load_untyped - load a program that knows no type of the kernel's; returns a descriptor, or -1
 * with errno */
int bpf_load_untyped(const struct bpf_insn *instructions, uint32_t count);

/* bpf_reads_kernel - whether programs may read the kernel's memory: lockdown forbids it */
bool bpf_reads_kernel(void);

/* bpf_finds_tasks - whether programs may look a task up by its pid. tracepoint: any that is typed
 */
bool bpf_finds_tasks(const struct bpf_fds *fds, uint32_t tracepoint);

/* bpf_call - make the system call, whose arguments are the beginning of a union bpf_attr */
long bpf_call(int command, void *arguments, size_t size);

#endif
