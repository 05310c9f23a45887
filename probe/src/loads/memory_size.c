// SPDX-License-Identifier: MIT
#include "memory_size.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "small_file.h"

/* Big and small cores differ in their caches; no board has more than a handful of kinds. */
#define MOST_CPUS   64
#define MOST_CACHES 8

uint64_t memory_available_bytes(void)
{
	uint64_t kib = small_file_number(AT_FDCWD, "/proc/meminfo", "MemAvailable:");
	struct sysinfo info;

	if (kib)
		return kib * 1024;
	return sysinfo(&info) ? 0 : (uint64_t)info.freeram * info.mem_unit;
}

/* cache_bytes - size of one cache by sysfs, 0 when there is no such cache */
static uint64_t cache_bytes(int cpu, int index)
{
	char path[96], text[32], *unit;
	uint64_t size;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu,
		 index);
	small_file_read(AT_FDCWD, path, text, sizeof(text));
	size = strtoull(text, &unit, 10);
	return *unit == 'K' ? size << 10 : *unit == 'M' ? size << 20 : size;
}

/* sysfs first: on ARM the C library knows no cache sizes. */
uint64_t memory_last_cache_bytes(void)
{
	const int names[] = {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE};
	uint64_t largest = 0, bytes;

	for (int cpu = 0; cpu < MOST_CPUS; cpu++)
		for (int i = 0; i < MOST_CACHES && (bytes = cache_bytes(cpu, i)) != 0; i++)
			largest = bytes > largest ? bytes : largest;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long size = sysconf(names[i]);

		if (size > 0 && (uint64_t)size > largest)
			largest = (uint64_t)size;
	}
	return largest;
}
