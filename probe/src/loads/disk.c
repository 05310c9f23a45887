// SPDX-License-Identifier: MIT
/*
 * disk - write to a temporary file and wait until the disk has it
 *
 * Stresses the page cache, the file system's journal, the block layer, the disk's interrupts and
 * the softirqs and kernel threads that complete writes; on SD cards and eMMC also the driver's
 * own waiting. Blocks in order and small ones in between, each made safe before the next, so
 * that the queue never fills and a board is still usable beside it.
 *
 * The file has no name from the start, or loses it before anything is written: however the load
 * ends, the kernel takes the space back. It is written over in place and does not grow. It must
 * lie on a disk: in tmpfs or ramfs there is nothing to wait for, and the load would be another
 * memory load under a false name. (An overlay that keeps its changes in memory looks like a
 * disk: set TMPDIR there.) Flash wears out by this as by any other writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kinds.h"

#define MIB	   (1024ull * 1024)
#define MOST_BYTES (16 * MIB)
#define LEAST_FREE (2 * MIB)
/* Small enough for ten of them a second on a poor SD card. */
#define BLOCK_BYTES (64 * 1024)
#define SMALL_BYTES (4 * 1024)
#define TMPFS	    0x01021994u
#define RAMFS	    0x858458f6u

struct target {
	const char *directory;
	int fd;
	off_t bytes; /* how far the file may grow */
};

/* open_unnamed - a file that vanishes with its last descriptor, or -1 with errno */
static int open_unnamed(const char *directory)
{
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Older kernels see O_DIRECTORY in it and fail with EISDIR; not all systems can. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	int length = snprintf(path, sizeof(path), "%s/whylate-disk-XXXXXX", directory);
	if (length < 0 || (size_t)length >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* try_directory - open the file there; NULL, or why this directory will not do */
static const char *try_directory(struct target *target, const char *directory)
{
	struct statfs fs;

	if (statfs(directory, &fs))
		return strerror(errno);
	if ((unsigned int)fs.f_type == TMPFS || (unsigned int)fs.f_type == RAMFS)
		return "in memory";
	/* Before asking for room: a system that can not be written to has none either. */
	target->fd = open_unnamed(directory);
	if (target->fd < 0)
		return strerror(errno);
	unsigned long long available = (unsigned long long)fs.f_bavail * (unsigned long)fs.f_bsize;
	if (available < LEAST_FREE) {
		close(target->fd);
		return "full";
	}
	/* Leave most of what is free to the board. */
	unsigned long long bytes = available / 4 < MOST_BYTES ? available / 4 : MOST_BYTES;
	target->bytes = (off_t)(bytes - bytes % BLOCK_BYTES);
	target->directory = directory;
	return NULL;
}

/* choose_target - the first directory that will do; 0, or -1 after load_fail() */
static int choose_target(struct load_context *context, struct target *target)
{
	const char *directories[] = {getenv("TMPDIR"), "/var/tmp", "/tmp", "."};
	char reasons[128] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (!directories[i] || !directories[i][0])
			continue;
		const char *reason = try_directory(target, directories[i]);
		if (!reason)
			return 0;
		used += (size_t)snprintf(reasons + used, sizeof(reasons) - used, "%s%.24s: %s",
					 used ? ", " : "", directories[i], reason);
		if (used >= sizeof(reasons))
			used = sizeof(reasons) - 1;
	}
	load_fail(context, "set TMPDIR to a directory on a disk with 2 MiB free (%s)", reasons);
	return -1;
}

/*
 * write_through - one block at its place, on the disk; 0, or -1 with errno
 *
 * The reason for a short write comes only when the rest is tried.
 */
static int write_through(int fd, const char *block, size_t length, off_t at)
{
	while (length) {
		ssize_t written = pwrite(fd, block, length, at);
		if (written <= 0) {
			if (!written)
				errno = ENOSPC;
			return -1;
		}
		block += written;
		length -= (size_t)written;
		at += written;
	}
	return fsync(fd);
}

void load_disk(struct load_context *context)
{
	struct target target = {.fd = -1};
	char *block = malloc(BLOCK_BYTES);

	if (!block) {
		load_fail(context, "no memory for the disk load");
		return;
	}
	memset(block, 0x5a, BLOCK_BYTES);
	/* A limit on the size of files shall be an error to report, not a death. */
	signal(SIGXFSZ, SIG_IGN);
	if (choose_target(context, &target))
		return;
	for (uint64_t step = 1;; step++) {
		/* Compressing and deduplicating disks shall find no two blocks alike. */
		for (size_t i = 0; i < BLOCK_BYTES; i += SMALL_BYTES)
			memcpy(block + i, &(uint64_t){step * BLOCK_BYTES + i}, sizeof(uint64_t));
		for (off_t at = 0; at < target.bytes; at += BLOCK_BYTES) {
			memcpy(block + 8, &at, sizeof(at));
			if (write_through(target.fd, block, BLOCK_BYTES, at))
				goto broken;
			load_count(context, BLOCK_BYTES);
			if (write_through(target.fd, block, SMALL_BYTES, at / 2))
				goto broken;
			load_count(context, SMALL_BYTES);
		}
	}
broken:
	load_fail(context, "cannot write in %.40s: %s%s", target.directory, strerror(errno),
		  errno == ENOSPC || errno == EDQUOT
		      ? "; free some space or set TMPDIR to another disk"
		      : "");
}
