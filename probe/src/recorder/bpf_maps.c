// SPDX-License-Identifier: MIT
#include "bpf_maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf_sources.h"

#define LEAST_EVENTS 1024u
/* 4 MiB: many kernels refuse an array of larger elements. */
#define MOST_ELEMENT (UINT64_C(4) << 20)
#define PAGE	     UINT64_C(4096)

_Static_assert(offsetof(struct recorder_bpf_cpu, shared.maximum) % 64 == 0 &&
		   sizeof(struct recorder_maximum) % 64 == 0,
	       "what an arrival reads is in one line of the cache");

int bpf_load_types(struct bpf_engine *engine)
{
	engine->fds.btf_fd = bpf_types_load(bpf_btf, bpf_btf_size);
	return engine->fds.btf_fd < 0 ? errno : 0;
}

static uint64_t element_size(uint64_t events)
{
	uint64_t size = sizeof(struct recorder_bpf_cpu) + events * sizeof(struct recorder_event);

	return (size + PAGE - 1) & ~(PAGE - 1);
}

int bpf_create_rings(struct bpf_engine *engine, const struct recorder_plan *plan, uint64_t *events)
{
	uint64_t wanted = plan->ring_bytes / sizeof(struct recorder_event);

	*events = LEAST_EVENTS;
	while (*events * 2 <= wanted && *events < CHUNKS_MOST * CHUNK_EVENTS &&
	       element_size(*events * 2) <= MOST_ELEMENT)
		*events *= 2;
	for (;; *events /= 2) {
		engine->element = (size_t)element_size(*events);
		engine->fds.at[AT_CPUS] =
		    bpf_map_create(BPF_MAP_TYPE_ARRAY, "wl_cpus", engine->element, plan->cpu_limit,
				   BPF_F_MMAPABLE);
		if (engine->fds.at[AT_CPUS] >= 0)
			break;
		if ((errno != ENOMEM && errno != E2BIG) || *events == LEAST_EVENTS)
			return errno;
	}
	engine->memory_size = engine->element * plan->cpu_limit;
	engine->memory = mmap(NULL, engine->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      engine->fds.at[AT_CPUS], 0);
	if (engine->memory == MAP_FAILED) {
		engine->memory = NULL;
		return errno;
	}
	return 0;
}

int bpf_create_tables(struct bpf_engine *engine)
{
	engine->fds.at[AT_WOKEN] = bpf_map_create(BPF_MAP_TYPE_HASH, "wl_woken",
						  sizeof(struct recorder_woken), WOKEN_MOST, 0);
	if (engine->fds.at[AT_WOKEN] < 0)
		return errno;
	engine->fds.at[AT_LEFT] = bpf_map_create(BPF_MAP_TYPE_HASH, "wl_left",
						 sizeof(struct recorder_left), WOKEN_MOST, 0);
	return engine->fds.at[AT_LEFT] < 0 ? errno : 0;
}

int bpf_create_config(struct bpf_engine *engine)
{
	int *config_fd = &engine->fds.at[AT_CONFIG];

	if (*config_fd >= 0)
		close(*config_fd);
	*config_fd = bpf_map_constants("wl_config", &engine->config, sizeof(engine->config));
	return *config_fd < 0 ? errno : 0;
}

struct recorder_bpf_cpu *bpf_cpu_at(const struct bpf_engine *engine, uint16_t cpu)
{
	return (void *)(engine->memory + engine->element * cpu);
}
