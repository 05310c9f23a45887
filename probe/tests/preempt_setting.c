// SPDX-License-Identifier: MIT
/*
 * preempt_setting VALUE - set the kernel's preempt to VALUE as a run does, and put it back
 *
 * Not every kernel can be preempted otherwise while it runs: the file is played, as
 * sched_dynamic_show() and sched_dynamic_write() have it. Says how each step went, and what is in
 * force then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHOICE "/sys/kernel/debug/sched/preempt"

static const char *const modes[] = {"none", "voluntary", "full", "lazy"};
static size_t mode = 2;
static int choice_fd = -1;

/* opened - openat(), but for the file that is played: what it shows now */
static int opened(int directory, const char *path, int flags, ...)
{
	int fd;

	if (strcmp(path, CHOICE) != 0)
		return openat(directory, path, flags, 0600);
	fd = memfd_create("choice", MFD_CLOEXEC);
	if (flags & O_WRONLY) {
		choice_fd = fd;
		return fd;
	}
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		dprintf(fd, i == mode ? "(%s) " : "%s ", modes[i]);
	dprintf(fd, "\n");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* written - write(), but into the file that is played */
static ssize_t written(int fd, const void *data, size_t length)
{
	if (fd != choice_fd)
		return write(fd, data, length);
	choice_fd = -1;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strlen(modes[i]) != length - 1 || memcmp(modes[i], data, length - 1) != 0)
			continue;
		mode = i;
		return (ssize_t)length;
	}
	errno = EINVAL;
	return -1;
}

#define openat opened
#define write  written
#include "guardian/settings.c"
#include "small_file.c"

int main(int argc, char **argv)
{
	static struct settings settings;
	char text[FAILURE_TEXT] = "";

	if (argc != 2)
		return 2;
	settings_open(&settings);
	printf("%d ", settings_apply(&settings, CHOICE, argv[1], text));
	printf("%s\n", modes[mode]);
	printf("%d ", settings_restore(&settings, text));
	printf("%s\n%s\n", modes[mode], text);
	return 0;
}
