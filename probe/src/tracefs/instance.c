// SPDX-License-Identifier: MIT
#include "instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "kprobes.h"
#include "mount.h"
#include "small_file.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
/* A reader of the instance, or a probe that dies, holds it for a moment. */
#define PATIENCE_NS (2 * (uint64_t)NS_PER_S)
/* Instances of one process number: the same number may be in use in another PID namespace. */
#define MOST_NAMES 16

/* wait_before - sleep for 5 ms; false: it is until_ns or later */
static bool wait_before(uint64_t until_ns)
{
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	return clock_ns() < until_ns;
}

static bool lock(int fd, uint64_t until_ns)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0)
		if (!wait_before(until_ns))
			return false;
	return true;
}

/* remove_directory - remove an instance, which the kernel refuses while somebody reads it */
static int remove_directory(int all, const char *name)
{
	uint64_t until_ns = clock_ns() + PATIENCE_NS;

	while (unlinkat(all, name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || !wait_before(until_ns))
			return errno;
	}
	return 0;
}

/* remove_orphan - remove an instance that nobody has locked; false: that failed */
static bool remove_orphan(int all, const char *name, uint64_t until_ns)
{
	int fd = openat(all, name, DIRECTORY);
	bool removed = true;

	if (fd < 0)
		return errno == ENOENT;
	if (lock(fd, until_ns)) {
		small_file_write(fd, "tracing_on", "0");
		removed = remove_directory(all, name) == 0;
	}
	close(fd);
	return removed;
}

/* is_instance_of - whether a directory is an instance of this process */
static bool is_instance_of(const char *name, pid_t owner)
{
	char own[INSTANCE_NAME];
	int length = snprintf(own, sizeof(own), INSTANCE_PREFIX "%ld", (long)owner);

	return !strncmp(name, own, (size_t)length) && (name[length] == '\0' || name[length] == '.');
}

/* remove_orphans - call it with `all` locked, so that none is met between its making and
 * its locking */
static size_t remove_orphans(int all, pid_t owner)
{
	int again = openat(all, ".", DIRECTORY);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	size_t left = 0;

	if (!list) {
		if (again >= 0)
			close(again);
		return 0;
	}
	while ((entry = readdir(list)) != NULL) {
		const char *name = entry->d_name;

		if (strncmp(name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
			continue;
		left += !remove_orphan(all, name,
				       is_instance_of(name, owner) ? clock_ns() + PATIENCE_NS : 0);
	}
	closedir(list);
	return left;
}

size_t instance_sweep(pid_t owner)
{
	char text[FAILURE_TEXT];
	size_t left = 0;
	int root, all;

	if (mount_open(&root, text) != 0)
		return 0;
	all = openat(root, "instances", DIRECTORY);
	if (all >= 0) {
		lock(all, clock_ns() + PATIENCE_NS);
		left = remove_orphans(all, owner);
		kprobes_sweep(root, all);
		close(all);
	}
	close(root);
	return left;
}

/* make_directory - make the directory of an instance and lock it; returns 0 or an errno */
static int make_directory(struct instance *instance)
{
	int error = EEXIST;

	for (int i = 0; i < MOST_NAMES && error == EEXIST; i++) {
		int length = snprintf(instance->name, sizeof(instance->name), INSTANCE_PREFIX "%ld",
				      (long)getpid());
		if (i > 0)
			snprintf(instance->name + length, sizeof(instance->name) - (size_t)length,
				 ".%d", i);
		error = mkdirat(instance->all, instance->name, 0700) < 0 ? errno : 0;
	}
	if (error)
		return error;
	instance->directory = openat(instance->all, instance->name, DIRECTORY);
	if (instance->directory >= 0 && flock(instance->directory, LOCK_EX | LOCK_NB) == 0)
		return 0;
	error = errno;
	if (instance->directory >= 0)
		close(instance->directory);
	remove_directory(instance->all, instance->name);
	return error;
}

int instance_make(struct instance *instance, int root, char *text)
{
	int error;

	instance->all = openat(root, "instances", DIRECTORY);
	if (instance->all < 0) {
		error = errno;
		/* A locked-down kernel still mounts tracefs, but empty. */
		if (error == ENOENT)
			return fail(text, error,
				    "this kernel has no instances of tracing, or is locked down "
				    "(lockdown=confidentiality)");
		return fail(text, error, "the instances of tracing cannot be opened: %s",
			    strerror(error));
	}
	if (!lock(instance->all, clock_ns() + PATIENCE_NS)) {
		close(instance->all);
		return fail(text, EBUSY, "another probe keeps the instances locked");
	}
	remove_orphans(instance->all, 0);
	kprobes_sweep(root, instance->all);
	error = make_directory(instance);
	flock(instance->all, LOCK_UN);
	if (!error)
		return 0;
	close(instance->all);
	return fail(text, error, "an instance of tracing cannot be made: %s%s", strerror(error),
		    error == EPERM || error == EACCES ? " (not root, or the kernel is locked down)"
						      : "");
}

int instance_remove(struct instance *instance)
{
	int error;

	small_file_write(instance->directory, "tracing_on", "0");
	error = remove_directory(instance->all, instance->name);
	close(instance->directory);
	close(instance->all);
	return error;
}
