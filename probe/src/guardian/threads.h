// SPDX-License-Identifier: MIT
/*
 * How threads are scheduled, as settings: SCHED_FIFO for all threads of a name.
 *
 * A user names "priority:NAME". The log has each of the threads as "thread:TID:START", when it
 * began in clock ticks since boot, so that another thread of that number is left alone; its value
 * is "POLICY NICE PRIORITY FLAGS RUNTIME" as of sched_getattr(2).
 */
#ifndef WHYLATE_GUARDIAN_THREADS_H
#define WHYLATE_GUARDIAN_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#define THREAD_PATH 48
#define THREAD_ROOM 64

/* threads_name - return the name in "priority:NAME"; NULL: it is no such path */
const char *threads_name(const char *path);

/* is_thread - whether a path is that of a thread */
bool is_thread(const char *path);

/* thread_read, thread_write - read how a thread is scheduled, of THREAD_ROOM bytes, or set that;
 * return 0 or an errno, ESRCH where it has ended */
int thread_read(const char *path, char *value);
int thread_write(const char *path, const char *value);

/* Threads of a name. */
struct threads {
	char (*paths)[THREAD_PATH];
	size_t count;
};

/* threads_find - find all threads of a name but those of whylate's probe; returns 0 or an errno.
 * threads_close: give their memory back. */
int threads_find(const char *name, struct threads *threads);
void threads_close(struct threads *threads);

/* threads_value - write the value of a thread with a priority, of THREAD_ROOM bytes. Threads that
 * it starts do not have it: these are in no log. Returns 0, or EINVAL for no priority. */
int threads_value(const char *priority, char *value);

/* thread_lasts - whether a thread lives for a second or longer: others are helpers that a thread
 * forks */
bool thread_lasts(const char *path);

/* threads_refuse - return why a thread that is scheduled so must not get that value; NULL: it may
 */
const char *threads_refuse(const char *now, const char *value);

/* threads_need - whether a setting is one that threads with a priority are bound by: for how long
 * real-time threads may run */
bool threads_need(const char *path);

#endif
