// SPDX-License-Identifier: MIT
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "small_file.h"

#define GROUP	   "priority:"
#define ONE	   "thread:"
#define RT_RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
#define RT_PERIOD  "/proc/sys/kernel/sched_rt_period_us"
#define HIGHEST	   99
/* linux/sched.h */
#define POLICY_DEADLINE 6u
#define RESET_ON_FORK	1u

/* The beginning of struct sched_attr, which a C library may lack. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* since 6.12 the time slice of SCHED_OTHER and SCHED_BATCH too */
	uint64_t of_deadline[2];
};

_Static_assert(sizeof(struct attributes) == 48, "it is the kernel's");

const char *threads_name(const char *path)
{
	size_t length = strlen(GROUP);

	return !strncmp(path, GROUP, length) && path[length] ? path + length : NULL;
}

/* parse_thread - parse the path of a thread; false: it is none */
static bool parse_thread(const char *path, pid_t *tid, uint64_t *start)
{
	char again[THREAD_PATH];
	int number = 0;

	if (sscanf(path, ONE "%d:%" SCNu64, &number, start) != 2 || number <= 0)
		return false;
	snprintf(again, sizeof(again), ONE "%d:%" PRIu64, number, *start);
	*tid = number;
	return !strcmp(path, again);
}

bool thread_lasts(const char *path)
{
	struct timespec now;
	uint64_t start;
	pid_t tid;

	if (!parse_thread(path, &tid, &start) || clock_gettime(CLOCK_BOOTTIME, &now))
		return true;
	return (uint64_t)now.tv_sec >= start / (uint64_t)sysconf(_SC_CLK_TCK) + 1;
}

bool is_thread(const char *path)
{
	uint64_t start;
	pid_t tid;

	return parse_thread(path, &tid, &start);
}

/* read_start - read when a thread began, in clock ticks since boot; false: it has ended */
static bool read_start(pid_t tid, uint64_t *start)
{
	char path[48], text[1024];
	const char *fields;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	if (small_file_read(AT_FDCWD, path, text, sizeof(text)))
		return false;
	/* Its name may have parentheses and spaces. Field 22: proc(5). */
	fields = strrchr(text, ')');
	return fields && sscanf(fields + 1,
				" %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %" SCNu64,
				start) == 1;
}

/* find_thread - parse the path of a thread that lives; returns 0 or an errno */
static int find_thread(const char *path, pid_t *tid)
{
	uint64_t start, now;

	if (!parse_thread(path, tid, &start))
		return EINVAL;
	return read_start(*tid, &now) && now == start ? 0 : ESRCH;
}

int thread_read(const char *path, char *value)
{
	struct attributes now = {0};
	pid_t tid;
	int error = find_thread(path, &tid);

	if (error)
		return error;
	if (syscall(SYS_sched_getattr, tid, &now, sizeof(now), 0))
		return errno;
	snprintf(value, THREAD_ROOM, "%" PRIu32 " %" PRId32 " %" PRIu32 " %" PRIu64 " %" PRIu64,
		 now.policy, now.nice, now.priority, now.flags,
		 now.policy == SCHED_OTHER || now.policy == SCHED_BATCH ? now.runtime : 0);
	return 0;
}

static bool parse_value(const char *value, struct attributes *wanted)
{
	*wanted = (struct attributes){.size = sizeof(*wanted)};
	return sscanf(value, "%" SCNu32 " %" SCNd32 " %" SCNu32 " %" SCNu64 " %" SCNu64,
		      &wanted->policy, &wanted->nice, &wanted->priority, &wanted->flags,
		      &wanted->runtime) == 5;
}

int thread_write(const char *path, const char *value)
{
	struct attributes wanted;
	pid_t tid;
	int error = find_thread(path, &tid);

	if (error)
		return error;
	if (!parse_value(value, &wanted))
		return EINVAL;
	return syscall(SYS_sched_setattr, tid, &wanted, 0) ? errno : 0;
}

/* add_thread - add a thread to a list; returns 0 or an errno */
static int add_thread(struct threads *threads, pid_t tid)
{
	uint64_t start;
	void *larger;

	if (!read_start(tid, &start))
		return 0;
	larger = realloc(threads->paths, (threads->count + 1) * sizeof(*threads->paths));
	if (!larger)
		return ENOMEM;
	threads->paths = larger;
	snprintf(threads->paths[threads->count++], THREAD_PATH, ONE "%d:%" PRIu64, (int)tid, start);
	return 0;
}

/* find_in - add the threads of a name of a process; returns 0 or an errno */
static int find_in(const char *process, const char *name, struct threads *threads)
{
	char path[320], comm[64];
	const struct dirent *entry;
	DIR *tasks;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%s/task", process);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while (!error && (entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "%s/comm", entry->d_name);
		if (*entry->d_name != '.' &&
		    small_file_line(dirfd(tasks), path, comm, sizeof(comm)) && !strcmp(comm, name))
			error = add_thread(threads, (pid_t)atoi(entry->d_name));
	}
	closedir(tasks);
	return error;
}

int threads_find(const char *name, struct threads *threads)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	*threads = (struct threads){NULL, 0};
	if (!proc)
		return errno;
	while (!error && (entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		/* The guardian and its probe. */
		if (pid > 0 && pid != getpid() && pid != getppid())
			error = find_in(entry->d_name, name, threads);
	}
	closedir(proc);
	return error;
}

void threads_close(struct threads *threads)
{
	free(threads->paths);
	*threads = (struct threads){NULL, 0};
}

int threads_value(const char *priority, char *value)
{
	char *end;
	long number = strtol(priority, &end, 10);

	if (end == priority || *end || number < 1 || number > HIGHEST)
		return EINVAL;
	snprintf(value, THREAD_ROOM, "%d 0 %ld %u 0", SCHED_FIFO, number, RESET_ON_FORK);
	return 0;
}

/* is_throttled - whether the kernel leaves other threads a part of the time beside real-time ones
 */
static bool is_throttled(void)
{
	char runtime[32], period[32];

	if (!small_file_line(AT_FDCWD, RT_RUNTIME, runtime, sizeof(runtime)) ||
	    !small_file_line(AT_FDCWD, RT_PERIOD, period, sizeof(period)))
		return true;
	return *runtime != '-' && strtoul(runtime, NULL, 10) < strtoul(period, NULL, 10);
}

const char *threads_refuse(const char *now, const char *value)
{
	struct attributes has, wanted;

	if (!parse_value(now, &has) || !parse_value(value, &wanted))
		return "how it is scheduled is not known";
	if (has.policy == POLICY_DEADLINE || has.priority >= wanted.priority)
		return "it already has this priority or a higher one";
	if (!is_throttled())
		return "a loop in it would take its CPU for good, since " RT_RUNTIME
		       " is -1, or all of " RT_PERIOD ": set the knob rt-runtime to 950000";
	return NULL;
}

bool threads_need(const char *path)
{
	return !strcmp(path, RT_RUNTIME) || !strcmp(path, RT_PERIOD);
}
