// SPDX-License-Identifier: MIT
#include "peek.h"

#include <linux/bpf.h>
#include <string.h>

#include "program.h"

int bpf_peek_open(void)
{
	/* r3 = the address; a word on the stack = 0; bpf_probe_read_kernel(the word, 4, r3);
	 * return the word */
	struct bpf_insn instructions[] = {
	    {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 3, .src_reg = 1},
	    {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = BPF_REG_10},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -4},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 4},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
	    {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 0, .src_reg = BPF_REG_10, .off = -4},
	    {.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_load_instructions(instructions, sizeof(instructions) / sizeof(instructions[0]),
				     &(struct bpf_load_as){BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0});
}

bool bpf_peek(int program, uint64_t address, uint64_t *value)
{
	uint32_t halves[2];

	for (int i = 0; i < 2; i++) {
		uint64_t from = address + sizeof(halves[0]) * (uint64_t)i;
		union bpf_attr arguments;

		memset(&arguments, 0, sizeof(arguments));
		arguments.test.prog_fd = (uint32_t)program;
		arguments.test.ctx_in = (uintptr_t)&from;
		arguments.test.ctx_size_in = sizeof(from);
		if (bpf_call(BPF_PROG_TEST_RUN, &arguments, sizeof(arguments)))
			return false;
		halves[i] = arguments.test.retval;
	}
	memcpy(value, halves, sizeof(*value));
	return true;
}
