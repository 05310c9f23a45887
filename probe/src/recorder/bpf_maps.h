// SPDX-License-Identifier: MIT
/* What the BPF engine holds of the kernel, and making its maps. */
#ifndef WHYLATE_RECORDER_BPF_MAPS_H
#define WHYLATE_RECORDER_BPF_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/layout.h"
#include "bpf/program.h"
#include "engine.h"

#define PROGRAMS_MOST 48
/* In place of a link that was closed for a while. */
#define LINK_DETACHED (-2)

/* All descriptors, -1 where there is none. */
struct bpf_engine {
	struct bpf_fds fds;
	int stats_fd;
	int programs[PROGRAMS_MOST];
	int links[RECORDER_SOURCES];
	int hook_links[HOOKS_MOST][2]; /* of the entry and the return */
	char *memory;		       /* cpus_fd, mapped */
	size_t element;
	size_t memory_size;
	struct recorder_config config;
};

/* These return 0 or an errno. */

/* bpf_load_types - load the programs' own BTF */
int bpf_load_types(struct bpf_engine *engine);

/* bpf_create_rings - create the map of all CPUs, with as many events as planned, or as possible */
int bpf_create_rings(struct bpf_engine *engine, const struct recorder_plan *plan, uint64_t *events);

/* bpf_create_tables - create the maps of the watched threads that wait, and that were woken */
int bpf_create_tables(struct bpf_engine *engine);

/* bpf_create_config - create the map of constants, for programs that are loaded from now on */
int bpf_create_config(struct bpf_engine *engine);

struct recorder_bpf_cpu *bpf_cpu_at(const struct bpf_engine *engine, uint16_t cpu);

#endif
