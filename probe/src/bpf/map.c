// SPDX-License-Identifier: MIT
#include "map.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"

int bpf_map_create(uint32_t type, const char *name, uint64_t value_size, uint32_t count,
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

int bpf_map_mapped(const char *name, uint64_t value_size, uint32_t count, void **memory,
		   size_t *size)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, value_size, count, BPF_F_MMAPABLE);
	int error;

	if (map < 0)
		return -1;
	*size = (size_t)value_size * count;
	*memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (*memory != MAP_FAILED)
		return map;
	error = errno;
	*memory = NULL;
	close(map);
	errno = error;
	return -1;
}

/* set_value - set a value of a map; returns 0 or an errno */
static int set_value(int map, uint32_t key, const void *value)
{
	union bpf_attr arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.map_fd = (uint32_t)map;
	arguments.key = (uintptr_t)&key;
	arguments.value = (uintptr_t)value;
	return bpf_call(BPF_MAP_UPDATE_ELEM, &arguments, sizeof(arguments)) ? errno : 0;
}

int bpf_map_set(int map, uint32_t key, uint32_t value)
{
	return set_value(map, key, &value);
}

/* set_constants - set the only value of a map, and freeze it; returns 0 or an errno */
static int set_constants(int map, const void *value)
{
	union bpf_attr arguments;
	int error = set_value(map, 0, value);

	if (error)
		return error;
	memset(&arguments, 0, sizeof(arguments));
	arguments.map_fd = (uint32_t)map;
	return bpf_call(BPF_MAP_FREEZE, &arguments, sizeof(arguments)) ? errno : 0;
}

int bpf_map_constants(const char *name, const void *value, uint64_t size)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, size, 1, BPF_F_RDONLY_PROG);
	int error = map < 0 ? errno : set_constants(map, value);

	if (map >= 0 && error)
		close(map);
	errno = error;
	return error ? -1 : map;
}

int bpf_types_load(const void *btf, size_t size)
{
	union bpf_attr arguments;

	memset(&arguments, 0, sizeof(arguments));
	arguments.btf = (uintptr_t)btf;
	arguments.btf_size = (uint32_t)size;
	return (int)bpf_call(BPF_BTF_LOAD, &arguments, sizeof(arguments));
}
