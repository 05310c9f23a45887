// SPDX-License-Identifier: MIT
/* Which tracepoint is recorded by which BPF program. */
#ifndef WHYLATE_RECORDER_BPF_SOURCES_H
#define WHYLATE_RECORDER_BPF_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_source {
	const char *name; /* SYSTEM:TRACEPOINT */
	int program;	  /* PROGRAM_ of bpf/programs.h */
	bool is_needed;	  /* without it nothing can be recorded */
	bool is_fallback; /* not wanted where the source before it is attached */
};

extern const struct bpf_source bpf_sources[];
extern const size_t bpf_source_count;
/* Programs at the entry and at the return of a function of others. */
extern const int bpf_hook_entry;
extern const int bpf_hook_return;
extern const struct bpf_program *const bpf_programs;
extern const size_t bpf_program_count;

/* The programs' BTF. */
extern const void *const bpf_btf;
extern const size_t bpf_btf_size;

#endif
