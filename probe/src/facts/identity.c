// SPDX-License-Identifier: MIT
#include "identity.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

#define CLOCK_ROUNDS 101
#define CLOCK_READS  32

#if defined(__x86_64__)
#define ARCH "x86_64"
#elif defined(__aarch64__)
#define ARCH "aarch64"
#elif defined(__arm__)
#define ARCH "armv7"
#else
#error "whylate's probe is built for x86_64, aarch64 and armv7"
#endif

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* median_read_cost - measure what one clock reading costs, in ns */
static uint64_t median_read_cost(void)
{
	uint64_t cost[CLOCK_ROUNDS];

	for (int round = 0; round < CLOCK_ROUNDS; round++) {
		uint64_t start_ns = clock_ns(), last_ns = start_ns;

		for (int i = 0; i < CLOCK_READS; i++)
			last_ns = clock_ns();
		cost[round] = (last_ns - start_ns) / CLOCK_READS;
	}
	qsort(cost, CLOCK_ROUNDS, sizeof(*cost), compare);
	return cost[CLOCK_ROUNDS / 2];
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static void read_cpus(struct identity *identity, size_t max_cpus)
{
	size_t size = CPU_ALLOC_SIZE(65536);
	cpu_set_t *set = CPU_ALLOC(65536);

	identity->cpus = calloc(max_cpus, sizeof(*identity->cpus));
	if (set && identity->cpus && sched_getaffinity(0, size, set) == 0)
		for (size_t cpu = 0; cpu < 65536 && identity->cpu_count < max_cpus; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				identity->cpus[identity->cpu_count++] = (uint16_t)cpu;
	CPU_FREE(set);
}

void identity_read(struct identity *identity, size_t max_cpus)
{
	struct timespec resolution = {0};
	struct rlimit limit;

	memset(identity, 0, sizeof(*identity));
	identity->arch = ARCH;
	uname(&identity->names);
	identity->uid = geteuid();
	identity->capabilities = effective_capabilities();
	if (getrlimit(RLIMIT_RTPRIO, &limit) == 0)
		identity->rtprio_limit = limit.rlim_cur;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		identity->memlock_limit = limit.rlim_cur;
	clock_getres(CLOCK_MONOTONIC, &resolution);
	identity->clock_resolution_ns =
	    (uint64_t)resolution.tv_sec * NS_PER_S + (uint64_t)resolution.tv_nsec;
	identity->clock_read_ns = median_read_cost();
	read_cpus(identity, max_cpus);
}

void identity_release(struct identity *identity)
{
	free(identity->cpus);
	identity->cpus = NULL;
}
