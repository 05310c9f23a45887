// SPDX-License-Identifier: MIT
#include "clock_source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

/* IA-PC HPET Specification 1.0a, 2.3: registers, from the beginning of the block. */
#define HPET_CAPABILITIES   0x00 /* bit 13: the counter has 64 bits */
#define HPET_PERIOD	    0x04 /* in femtoseconds */
#define HPET_COUNTER	    0xF0
#define HPET_IS_WIDE	    (1u << 13)
#define HPET_BYTES	    1024
#define HPET_LONGEST_PERIOD 100000000u
/* Not an errno that reading a clock can have. */
#define FORBIDDEN EDOM

#ifdef __NR_clock_gettime64
#define KERNEL_CLOCK_GETTIME __NR_clock_gettime64
struct kernel_time {
	int64_t seconds, ns;
};
#else
#define KERNEL_CLOCK_GETTIME __NR_clock_gettime
struct kernel_time {
	long seconds, ns;
};
#endif

static uint32_t hpet_register(const struct clock_source *source, size_t offset)
{
	return *(const volatile uint32_t *)(source->registers + offset);
}

static uint64_t hpet_counter(const struct clock_source *source)
{
#if UINTPTR_MAX > UINT32_MAX
	if (source->is_wide)
		return *(const volatile uint64_t *)(source->registers + HPET_COUNTER);
#endif
	return hpet_register(source, HPET_COUNTER);
}

static int open_hpet(struct clock_source *source, struct child_context *context)
{
	int fd = open("/dev/hpet", O_RDONLY | O_CLOEXEC);
	void *registers;
	uint32_t period;
	int error;

	if (fd < 0)
		return fail(context->text, errno, "/dev/hpet cannot be opened: %s",
			    strerror(errno));
	registers = mmap(NULL, HPET_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	error = errno;
	close(fd);
	if (registers == MAP_FAILED)
		return fail(context->text, error,
			    "/dev/hpet cannot be mapped: %s (the kernel has hpet_mmap=1 for "
			    "that)",
			    strerror(error));
	source->registers = registers;
	source->is_wide = (hpet_register(source, HPET_CAPABILITIES) & HPET_IS_WIDE) != 0;
	period = hpet_register(source, HPET_PERIOD);
	if (!period || period > HPET_LONGEST_PERIOD)
		return fail(context->text, EIO, "the HPET reports a tick of %u fs", period);
	source->ns_per_tick = period / 1e6;
	source->resolution_ns = (period + 999999u) / 1000000u;
	return 0;
}

int clock_open(struct clock_source *source, struct child_context *context, enum clock_method method,
	       clockid_t id)
{
	struct timespec resolution;
	struct kernel_time time;

	*source =
	    (struct clock_source){.method = method, .id = id, .is_wide = true, .ns_per_tick = 1};
	if (method == CLOCK_BY_HPET)
		return open_hpet(source, context);
	if (method == CLOCK_BY_DEVICE)
		return 0;
	if (clock_getres(id, &resolution))
		return fail(context->text, errno, "this kernel has no clock %d: %s", (int)id,
			    strerror(errno));
	/* The call with 64-bit seconds exists since Linux 5.1. */
	if (method == CLOCK_BY_SYSCALL && syscall(KERNEL_CLOCK_GETTIME, id, &time))
		return fail(context->text, errno, "this kernel does not have the system call: %s",
			    strerror(errno));
	source->resolution_ns = clock_timespec_ns(resolution);
	return 0;
}

uint64_t clock_read(const struct clock_source *source)
{
	struct kernel_time time;

	switch (source->method) {
	case CLOCK_BY_LIBC:
		return clock_id_ns(source->id);
	case CLOCK_BY_SYSCALL:
		syscall(KERNEL_CLOCK_GETTIME, source->id, &time);
		return (uint64_t)time.seconds * NS_PER_S + (uint64_t)time.ns;
	case CLOCK_BY_HPET:
		return hpet_counter(source);
	default:
		return 0;
	}
}

int64_t clock_later(const struct clock_source *source, uint64_t first, uint64_t second)
{
	/* A 32-bit counter wraps after some minutes. */
	if (!source->is_wide)
		return (int32_t)(uint32_t)(second - first);
	return (int64_t)(second - first);
}

/* forbid - make clock_gettime(2) fail in this process */
static bool forbid(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KERNEL_CLOCK_GETTIME, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | FORBIDDEN),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum clock_calls clock_makes_call(const struct clock_source *source)
{
	struct timespec now;
	int status;
	pid_t child;

	if (source->method != CLOCK_BY_LIBC)
		return source->method == CLOCK_BY_SYSCALL ? CALLS_MADE : CALLS_NONE;
	child = fork();
	if (child == 0) {
		if (!forbid())
			_exit(CALLS_UNKNOWN);
		errno = 0;
		if (clock_gettime(source->id, &now) == 0)
			_exit(CALLS_NONE);
		_exit(errno == FORBIDDEN ? CALLS_MADE : CALLS_UNKNOWN);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return CALLS_UNKNOWN;
	return (enum clock_calls)WEXITSTATUS(status);
}
