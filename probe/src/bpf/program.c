// SPDX-License-Identifier: MIT
/*
 * Loading one BPF program: the kernel fits it to its own structures (CO-RE), the loader fills in
 * the maps.
 *
 * The object file was parsed at build time: the probe needs no library, and each program is
 * optional.
 */
#include "program.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "peek.h"

#define INSTRUCTIONS 3000

/* linux/bpf.h has it since 5.13. */
#define PSEUDO_KERNEL_CALL 2

/* The helpers that read the kernel's memory ask for a licence that is compatible with its own. */
static const char licence[] = "Dual MIT/GPL";

/* The beginning of union bpf_attr for BPF_PROG_LOAD: the headers of a build machine may be older
 * than CO-RE in the kernel. */
struct load_arguments {
	uint32_t prog_type;
	uint32_t insn_cnt;
	uint64_t insns;
	uint64_t license;
	uint32_t log_level;
	uint32_t log_size;
	uint64_t log_buf;
	uint32_t kern_version;
	uint32_t prog_flags;
	char prog_name[16];
	uint32_t prog_ifindex;
	uint32_t expected_attach_type;
	uint32_t prog_btf_fd;
	uint32_t func_info_rec_size;
	uint64_t func_info;
	uint32_t func_info_cnt;
	uint32_t line_info_rec_size;
	uint64_t line_info;
	uint32_t line_info_cnt;
	uint32_t attach_btf_id;
	uint32_t attach_prog_fd;
	uint32_t core_relo_cnt;
	uint64_t fd_array;
	uint64_t core_relos;
	uint32_t core_relo_rec_size;
	uint32_t log_true_size;
};

_Static_assert(sizeof(struct load_arguments) == 144, "it is the kernel's");

long bpf_call(int command, void *arguments, size_t size)
{
	return syscall(SYS_bpf, command, arguments, size);
}

/* set_address - put a map, or a variable, into the double instruction that loads a 64-bit number */
static void set_address(struct bpf_insn *instruction, const struct bpf_fds *fds,
			const struct bpf_place *place)
{
	int value = fds->at[place->number];
	uint8_t meaning = 0;

	switch (place->kind) {
	case PLACE_MAP:
		meaning = BPF_PSEUDO_MAP_FD;
		break;
	case PLACE_VALUE:
		/* What the compiler put here is the offset in it. */
		meaning = BPF_PSEUDO_MAP_VALUE;
		instruction[1].imm = instruction[0].imm;
		break;
	case PLACE_VARIABLE:
		/* Without it, the code that uses it is never reached: config says so. */
		meaning = value ? BPF_PSEUDO_BTF_ID : 0;
		break;
	}
	instruction[0].src_reg = meaning & 0xf;
	instruction[0].imm = value;
}

/* set_call - let a call of CALL_… call the kernel's function. Where there is none it stays a call
 * of no helper, in code that is never reached. */
static void set_call(struct bpf_insn *instruction, const struct bpf_fds *fds)
{
	uint32_t function = 0;

	if (instruction->code != (BPF_JMP | BPF_CALL) || instruction->src_reg)
		return;
	if (instruction->imm == CALL_TASK_FROM_PID)
		function = fds->task_from_pid;
	if (instruction->imm == CALL_TASK_RELEASE)
		function = fds->task_release;
	if (instruction->imm == CALL_SESSION_COOKIE)
		function = fds->session_cookie;
	if (instruction->imm == CALL_SESSION_IS_RETURN)
		function = fds->session_is_return;
	if (!function)
		return;
	instruction->src_reg = PSEUDO_KERNEL_CALL;
	instruction->imm = (int32_t)function;
}

/* A signal or a freezer that comes while the verifier works ends that with EAGAIN. */
#define LOAD_TRIES 10

static long load(struct load_arguments *arguments)
{
	long fd = -1;

	for (int i = 0; i < LOAD_TRIES; i++) {
		fd = bpf_call(BPF_PROG_LOAD, arguments, sizeof(*arguments));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd;
}

int bpf_load_instructions(const struct bpf_insn *instructions, uint32_t count,
			  const struct bpf_load_as *as)
{
	struct load_arguments arguments = {
	    .prog_type = as->type,
	    .expected_attach_type = as->attach_type,
	    .attach_btf_id = as->id,
	    .insn_cnt = count,
	    .insns = (uintptr_t)instructions,
	    .license = (uintptr_t)licence,
	};

	return (int)load(&arguments);
}

bool bpf_reads_kernel(void)
{
	int fd = bpf_peek_open();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool bpf_finds_tasks(const struct bpf_fds *fds, uint32_t tracepoint)
{
	/* r0 = task_from_pid(1); if (r0) task_release(r0); return 0 */
	struct bpf_insn instructions[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
	    {.code = BPF_JMP | BPF_CALL, .imm = CALL_TASK_FROM_PID},
	    {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = BPF_REG_0},
	    {.code = BPF_JMP | BPF_CALL, .imm = CALL_TASK_RELEASE},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	struct bpf_load_as as = {BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, tracepoint};
	int fd;

	if (!fds->task_from_pid || !fds->task_release || !tracepoint)
		return false;
	set_call(&instructions[1], fds);
	set_call(&instructions[4], fds);
	fd = bpf_load_instructions(instructions, sizeof(instructions) / sizeof(instructions[0]),
				   &as);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int bpf_program_load(const struct bpf_program *program, const struct bpf_fds *fds,
		     const struct bpf_load_as *as, char *log, uint32_t log_size)
{
	struct bpf_insn instructions[INSTRUCTIONS];
	struct load_arguments arguments = {
	    .prog_type = as->type,
	    .expected_attach_type = as->attach_type,
	    .attach_btf_id = as->id,
	    .insn_cnt = program->instruction_count,
	    .insns = (uintptr_t)instructions,
	    .license = (uintptr_t)licence,
	    .prog_btf_fd = (uint32_t)fds->btf_fd,
	    /* Without content, but the kernel applies relocations only with it. */
	    .func_info = (uintptr_t)program->functions,
	    .func_info_cnt = program->function_count,
	    .func_info_rec_size = sizeof(struct bpf_function),
	    .core_relos = (uintptr_t)program->relocations,
	    .core_relo_cnt = program->relocation_count,
	    .core_relo_rec_size = program->relocation_count ? sizeof(struct bpf_relocation) : 0,
	};
	long fd;
	int error;

	if (program->instruction_count > INSTRUCTIONS) {
		errno = E2BIG;
		return -1;
	}
	memcpy(instructions, program->instructions,
	       program->instruction_count * sizeof(instructions[0]));
	for (uint32_t i = 0; i < program->place_count; i++)
		set_address(&instructions[program->places[i].instruction], fds,
			    &program->places[i]);
	for (uint32_t i = 0; i < program->instruction_count; i++)
		set_call(&instructions[i], fds);
	snprintf(arguments.prog_name, sizeof(arguments.prog_name), "wl_%.12s", program->name);
	fd = load(&arguments);
	if (fd >= 0 || errno == EPERM || !log)
		return (int)fd;
	/* Again, for the verifier's log. */
	log[0] = '\0';
	arguments.log_level = 1;
	arguments.log_buf = (uintptr_t)log;
	arguments.log_size = log_size;
	error = errno;
	fd = load(&arguments);
	/* A log that is too small is an error of its own. */
	errno = error;
	return (int)fd;
}

const char *bpf_log_reason(char *log)
{
	const char *last = log;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) != 0)
			last = line;
	return last;
}

int bpf_tracepoint_attach(int program, const char *name)
{
	union bpf_attr arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.raw_tracepoint.prog_fd = (uint32_t)program;
	arguments.raw_tracepoint.name = (uintptr_t)name;
	return (int)bpf_call(BPF_RAW_TRACEPOINT_OPEN, &arguments, sizeof(arguments));
}

bool bpf_program_info(int program, struct bpf_prog_info *info)
{
	union bpf_attr arguments;

	memset(info, 0, sizeof(*info));
	memset(&arguments, 0, sizeof(arguments));
	arguments.info.bpf_fd = (uint32_t)program;
	arguments.info.info_len = sizeof(*info);
	arguments.info.info = (uintptr_t)info;
	return program >= 0 && !bpf_call(BPF_OBJ_GET_INFO_BY_FD, &arguments, sizeof(arguments));
}
