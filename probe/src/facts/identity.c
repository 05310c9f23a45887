// SPDX-License-Identifier: MIT
#include "identity.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "numbers.h"
#include "thread.h"
#include "wire/send.h"

#define CLOCK_ROUNDS 101
#define CLOCK_READS  32

#if defined(__x86_64__)
#define ARCH "x86_64"
#elif defined(__aarch64__)
#define ARCH "aarch64"
#elif defined(__arm__)
#define ARCH "armv7"
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH "riscv64"
#else
#error "whylate's probe is built for x86_64, aarch64, armv7 and riscv64"
#endif

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
	qsort(cost, CLOCK_ROUNDS, sizeof(*cost), compare_u64);
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

static uint64_t soft_limit(int resource)
{
	struct rlimit limit = {0};

	getrlimit(resource, &limit);
	return limit.rlim_cur;
}

void identity_send(struct sender *sender)
{
	struct timespec resolution = {0};
	uint16_t cpus[WIRE_MOST_CPUS];
	uint8_t room[sizeof(cpus)];
	struct utsname names = {0};

	uname(&names);
	clock_getres(CLOCK_MONOTONIC, &resolution);
	SEND(sender, welcome, WELCOME, .version = wire_text(WHYLATE_VERSION),
	     .arch = wire_text(ARCH), .sysname = wire_text(names.sysname),
	     .nodename = wire_text(names.nodename), .release = wire_text(names.release),
	     .kernel_version = wire_text(names.version), .machine = wire_text(names.machine),
	     .uid = geteuid(), .capabilities = effective_capabilities(),
	     .rtprio_limit = soft_limit(RLIMIT_RTPRIO), .memlock_limit = soft_limit(RLIMIT_MEMLOCK),
	     .clock_resolution_ns = clock_timespec_ns(resolution),
	     .clock_read_ns = median_read_cost(),
	     .cpus = wire_list_of_u16(room, cpus, thread_cpus(cpus, WIRE_MOST_CPUS)));
}
