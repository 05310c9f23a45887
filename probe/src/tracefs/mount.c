// SPDX-License-Identifier: MIT
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "failure.h"

#define STANDARD_PLACE "/sys/kernel/tracing"

/* Of the kernel's linux/mount.h, which cannot be had together with the C library's. */
#define OPEN_CLOEXEC   1u
#define CONFIG_CREATE  6u
#define MOUNT_CLOEXEC  1u
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* open_place - open a directory where that kind of files is mounted; -1 where it is not */
static int open_place(const char *path, unsigned long magic)
{
	struct statfs status;
	int fd = open(path, OPEN_DIRECTORY);

	if (fd < 0)
		return -1;
	if (fstatfs(fd, &status) == 0 && (unsigned long)status.f_type == magic)
		return fd;
	close(fd);
	return -1;
}

/* mount_detached - mount that kind of files nowhere in the tree of files (since Linux 5.2) */
static int mount_detached(const char *kind, int *root)
{
	int context = (int)syscall(SYS_fsopen, kind, OPEN_CLOEXEC);
	int detached = -1, error = 0;

	if (context < 0)
		return errno;
	if (syscall(SYS_fsconfig, context, CONFIG_CREATE, NULL, NULL, 0) < 0 ||
	    (detached = (int)syscall(SYS_fsmount, context, MOUNT_CLOEXEC, 0)) < 0 ||
	    (*root = openat(detached, ".", OPEN_DIRECTORY)) < 0)
		error = errno;
	if (detached >= 0)
		close(detached);
	close(context);
	return error;
}

/* mount_briefly - mount and detach it, for older kernels: others see it between the two system
 * calls */
static int mount_briefly(int *root)
{
	int error = 0;

	if (mount("tracefs", STANDARD_PLACE, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	*root = open_place(STANDARD_PLACE, TRACEFS_MAGIC);
	if (*root < 0)
		error = ENODEV;
	umount2(STANDARD_PLACE, MNT_DETACH);
	return error;
}

int mount_open(int *root, char *text)
{
	int error;

	/* An existing mount first: a second mount would give all of them its own permissions. */
	*root = open_place(STANDARD_PLACE, TRACEFS_MAGIC);
	if (*root < 0)
		*root = open_place("/sys/kernel/debug/tracing", TRACEFS_MAGIC);
	if (*root >= 0)
		return 0;
	error = mount_detached("tracefs", root);
	if (error == ENOSYS)
		error = mount_briefly(root);
	if (error == ENODEV)
		return fail(text, error, "this kernel has no tracefs");
	if (error == EPERM || error == EACCES)
		return fail(text, error, "tracefs may be opened by root only");
	if (error)
		return fail(text, error, "tracefs cannot be mounted: %s", strerror(error));
	return 0;
}

int mount_open_debug(int *root)
{
	*root = open_place("/sys/kernel/debug", DEBUGFS_MAGIC);
	return *root >= 0 ? 0 : mount_detached("debugfs", root);
}
