// SPDX-License-Identifier: MIT
/* How long page faults of threads in the section take: hooks at the kernel's function for them. */
#ifndef WHYLATE_SECTION_FAULTS_H
#define WHYLATE_SECTION_FAULTS_H

#include <stdbool.h>

struct bpf_fds;

/* What handles page faults on every architecture, once it is known where in memory they are. */
#define FAULT_FUNCTION "handle_mm_fault"

struct section_fault_hooks {
	const struct fault_method *method; /* NULL: none that works */
	int programs[2];		   /* at its entry, at its return; -1: none */
	int links[2];			   /* likewise */
};

void faults_init(struct section_fault_hooks *hooks);

/* faults_load - load the programs for the first kind of hook that this kernel permits */
void faults_load(struct section_fault_hooks *hooks, const struct bpf_fds *fds);

/* faults_attach - time page faults from now on; false: this kernel permits no hook there. fds: as
 * loaded with */
bool faults_attach(struct section_fault_hooks *hooks, const struct bpf_fds *fds);

void faults_detach(struct section_fault_hooks *hooks);

void faults_unload(struct section_fault_hooks *hooks);

#endif
