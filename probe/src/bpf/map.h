// SPDX-License-Identifier: MIT
/* Making the maps that BPF programs are linked with, and their own types. */
#ifndef WHYLATE_BPF_MAP_H
#define WHYLATE_BPF_MAP_H

#include <stddef.h>
#include <stdint.h>

/* What makes something returns its descriptor, or -1 with errno. */

/* bpf_map_create - create a map whose keys are of 32 bits. type: BPF_MAP_TYPE_ */
int bpf_map_create(uint32_t type, const char *name, uint64_t value_size, uint32_t count,
		   uint32_t flags);

/* bpf_map_mapped - create an array of so many values, whose size is a multiple of 8, and map it;
 * *size: what is mapped */
int bpf_map_mapped(const char *name, uint64_t value_size, uint32_t count, void **memory,
		   size_t *size);

/* bpf_map_constants - create a map of one value that changes no more: the verifier sees it */
int bpf_map_constants(const char *name, const void *value, uint64_t size);

/* bpf_map_set - set a value of 32 bits, as a descriptor is one; returns 0 or an errno */
int bpf_map_set(int map, uint32_t key, uint32_t value);

/* bpf_types_load - load the BTF of programs */
int bpf_types_load(const void *btf, size_t size);

#endif
