// SPDX-License-Identifier: MIT
#include "bpf_maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf_program.h"
#include "bpf_sources.h"

#define LEAST_EVENTS 1024u
/* 4 MiB: many kernels refuse an array of larger elements. */
#define MOST_ELEMENT (UINT64_C(4) << 20)
#define PAGE	     UINT64_C(4096)

int bpf_load_types(struct bpf_engine *engine)
{
	union bpf_attr arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.btf = (uintptr_t)bpf_btf;
	arguments.btf_size = (uint32_t)bpf_btf_size;
	engine->fds.btf_fd = (int)bpf_call(BPF_BTF_LOAD, &arguments, sizeof(arguments));
	return engine->fds.btf_fd < 0 ? errno : 0;
}

static int create_map(enum bpf_map_type type, const char *name, uint64_t value_size, uint32_t count,
		      uint32_t flags)
{
	union bpf_attr arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.map_type = type;
	arguments.key_size = sizeof(uint32_t);
	arguments.value_size = (uint32_t)value_size;
	arguments.max_entries = count;
	arguments.map_flags = flags;
	snprintf(arguments.map_name, sizeof(arguments.map_name), "%s", name);
	return (int)bpf_call(BPF_MAP_CREATE, &arguments, sizeof(arguments));
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
		engine->fds.cpus_fd = create_map(BPF_MAP_TYPE_ARRAY, "wl_cpus", engine->element,
						 plan->cpu_limit, BPF_F_MMAPABLE);
		if (engine->fds.cpus_fd >= 0)
			break;
		if ((errno != ENOMEM && errno != E2BIG) || *events == LEAST_EVENTS)
			return errno;
	}
	engine->memory_size = engine->element * plan->cpu_limit;
	engine->memory = mmap(NULL, engine->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      engine->fds.cpus_fd, 0);
	if (engine->memory == MAP_FAILED) {
		engine->memory = NULL;
		return errno;
	}
	return 0;
}

int bpf_create_tables(struct bpf_engine *engine)
{
	engine->fds.woken_fd =
	    create_map(BPF_MAP_TYPE_HASH, "wl_woken", sizeof(struct recorder_woken), WOKEN_MOST, 0);
	if (engine->fds.woken_fd < 0)
		return errno;
	engine->fds.left_fd =
	    create_map(BPF_MAP_TYPE_HASH, "wl_left", sizeof(struct recorder_left), WOKEN_MOST, 0);
	return engine->fds.left_fd < 0 ? errno : 0;
}

/* create_config - create constants: the verifier sees their values once the map is frozen */
int bpf_create_config(struct bpf_engine *engine)
{
	uint32_t key = 0;
	union bpf_attr arguments;

	if (engine->fds.config_fd >= 0)
		close(engine->fds.config_fd);
	engine->fds.config_fd = create_map(BPF_MAP_TYPE_ARRAY, "wl_config", sizeof(engine->config),
					   1, BPF_F_RDONLY_PROG);
	if (engine->fds.config_fd < 0)
		return errno;
	memset(&arguments, 0, sizeof(arguments));
	arguments.map_fd = (uint32_t)engine->fds.config_fd;
	arguments.key = (uintptr_t)&key;
	arguments.value = (uintptr_t)&engine->config;
	if (bpf_call(BPF_MAP_UPDATE_ELEM, &arguments, sizeof(arguments)))
		return errno;
	memset(&arguments, 0, sizeof(arguments));
	arguments.map_fd = (uint32_t)engine->fds.config_fd;
	return bpf_call(BPF_MAP_FREEZE, &arguments, sizeof(arguments)) ? errno : 0;
}

struct recorder_bpf_cpu *bpf_cpu_at(const struct bpf_engine *engine, uint16_t cpu)
{
	return (void *)(engine->memory + engine->element * cpu);
}
