// SPDX-License-Identifier: MIT
#include "faults.h"

#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "bpf/kernel_btf.h"
#include "bpf/kprobe.h"
#include "bpf/program.h"
#include "section/bpf/programs.h"

enum { AT_ENTRY, AT_RETURN };

/* A kind of hook. */
struct fault_method {
	size_t programs[2];
	int (*load)(size_t program, bool at_return, const struct bpf_fds *fds);
	int (*attach)(int program, bool at_return);
};

/* ---------------------------------------------------------------- fentry, fexit */

static int load_typed(size_t program, bool at_return, const struct bpf_fds *fds)
{
	struct kernel_name name = {"", FAULT_FUNCTION, BTF_KIND_FUNC, 0, 0, NULL};
	struct bpf_load_as as = {BPF_PROG_TYPE_TRACING,
				 at_return ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY, 0};

	if (kernel_btf_find(&name, 1) || !name.id)
		return -1;
	as.id = name.id;
	return bpf_program_load(&programs[program], fds, &as, NULL, 0);
}

static int attach_typed(int program, bool at_return)
{
	(void)at_return;
	return bpf_tracepoint_attach(program, NULL);
}

/* ---------------------------------------------------------------- kprobe, kretprobe */

static int load_probe(size_t program, bool at_return, const struct bpf_fds *fds)
{
	(void)at_return;
	return bpf_program_load(&programs[program], fds,
				&(struct bpf_load_as){BPF_PROG_TYPE_KPROBE, 0, 0}, NULL, 0);
}

static int attach_probe(int program, bool at_return)
{
	uint32_t type = bpf_kprobe_type();

	if (!type)
		return -1;
	return bpf_kprobe_attach(
	    &(struct bpf_kprobe){.type = type, .name = FAULT_FUNCTION, .at_return = at_return},
	    program);
}

/* ---------------------------------------------------------------- all */

static const struct fault_method methods[] = {
    {{PROGRAM_PART_FAULT_ENTRY, PROGRAM_PART_FAULT_EXIT}, load_typed, attach_typed},
    {{PROGRAM_PART_FAULT_PROBE, PROGRAM_PART_FAULT_RETURN}, load_probe, attach_probe},
};

#define METHODS (sizeof(methods) / sizeof(methods[0]))

static void close_both(int *fds)
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void faults_init(struct section_fault_hooks *hooks)
{
	*hooks = (struct section_fault_hooks){NULL, {-1, -1}, {-1, -1}};
}

/* load_from - load the programs for a kind of hook, or the first after it that the kernel permits
 */
static void load_from(struct section_fault_hooks *hooks, size_t number, const struct bpf_fds *fds)
{
	for (hooks->method = NULL; number < METHODS && !hooks->method; number++) {
		const struct fault_method *method = &methods[number];

		for (int i = 0; i < 2; i++)
			hooks->programs[i] = method->load(method->programs[i], i == AT_RETURN, fds);
		if (hooks->programs[AT_ENTRY] >= 0 && hooks->programs[AT_RETURN] >= 0)
			hooks->method = method;
		else
			close_both(hooks->programs);
	}
}

void faults_load(struct section_fault_hooks *hooks, const struct bpf_fds *fds)
{
	load_from(hooks, 0, fds);
}

bool faults_attach(struct section_fault_hooks *hooks, const struct bpf_fds *fds)
{
	while (hooks->method) {
		/* The return first: what begins without it would not end. */
		for (int i = AT_RETURN; i >= AT_ENTRY; i--)
			hooks->links[i] = hooks->method->attach(hooks->programs[i], i == AT_RETURN);
		if (hooks->links[AT_ENTRY] >= 0 && hooks->links[AT_RETURN] >= 0)
			return true;
		faults_unload(hooks);
		load_from(hooks, (size_t)(hooks->method - methods) + 1, fds);
	}
	return false;
}

void faults_detach(struct section_fault_hooks *hooks)
{
	close_both(hooks->links);
}

void faults_unload(struct section_fault_hooks *hooks)
{
	faults_detach(hooks);
	close_both(hooks->programs);
}
