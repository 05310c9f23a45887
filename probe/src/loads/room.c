// SPDX-License-Identifier: MIT
#include "room.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Big and small cores differ in their caches; nobody builds more than a handful of kinds. */
#define MOST_CPUS   64
#define MOST_CACHES 8

/* room_available_bytes - memory that can be had without swapping, by the kernel's estimate */
uint64_t room_available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;
	struct sysinfo info;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
			break;
	}
	if (file)
		fclose(file);
	if (kib)
		return kib * 1024;
	return sysinfo(&info) ? 0 : (uint64_t)info.freeram * info.mem_unit;
}

/* cache_bytes - size of one cache by sysfs, 0 when there is no such cache */
static uint64_t cache_bytes(int cpu, int index)
{
	char path[96];
	uint64_t size = 0;
	char unit = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu,
		 index);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64 "%c", &size, &unit) < 1)
		size = 0;
	fclose(file);
	return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

/*
 * room_last_cache_bytes - read the largest cache of any CPU; 0: the board does not report it
 *
 * sysfs first: on ARM the C library knows no cache sizes at all.
 */
uint64_t room_last_cache_bytes(void)
{
	const int names[] = {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE};
	uint64_t largest = 0;

	for (int cpu = 0; cpu < MOST_CPUS; cpu++) {
		for (int index = 0; index < MOST_CACHES; index++) {
			uint64_t bytes = cache_bytes(cpu, index);
			if (!bytes)
				break;
			if (bytes > largest)
				largest = bytes;
		}
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long bytes = sysconf(names[i]);
		if (bytes > 0 && (uint64_t)bytes > largest)
			largest = (uint64_t)bytes;
	}
	return largest;
}
