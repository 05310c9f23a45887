// SPDX-License-Identifier: MIT
/*
 * block - read a disk, or a file on it, past the page cache
 *
 * Stresses the block layer, the disk's driver, its interrupts and what completes requests behind
 * them. A disk is only ever read, and is opened so: whatever is on it stays. Requests go to places
 * in a fixed pseudo-random order, so that a disk's read-ahead is of little use; one thread has one
 * request under way at a time. Nothing is written: the load `disk` writes. What is late is not made
 * up for beyond a tenth of a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/fs.h>

#include "clock.h"
#include "device.h"
#include "kinds.h"

#define MOST_BYTES (1u << 20)
#define ALIGN	   4096u
#define COUNT_NS   (200u * NS_PER_MS)
#define LATE_NS	   (100u * NS_PER_MS)
/* Of a generator of 64 bits (Knuth, MMIX). */
#define FACTOR	  6364136223846793005ull
#define ADDEND	  1442695040888963407ull
#define HIGH_BITS 33

enum { PATH, SIZE, IOPS, ARGUMENTS };

/* open_target - open for reading alone; its bytes in *size. -1 after load_fail() */
static int open_target(struct load_context *context, const char *path, uint64_t *size,
		       struct device *device)
{
	struct stat state;
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &state)) {
		load_fail(context, "cannot read %.80s past the page cache: %s%s", path,
			  strerror(errno),
			  errno == EINVAL ? "; is it on a disk, not in memory?" : "");
		return -1;
	}
	*size = (uint64_t)state.st_size;
	if (!S_ISREG(state.st_mode) && (!S_ISBLK(state.st_mode) || ioctl(fd, BLKGETSIZE64, size))) {
		load_fail(context, "%.80s is neither a disk nor a file", path);
		return -1;
	}
	dev_t disk = S_ISBLK(state.st_mode) ? state.st_rdev : state.st_dev;
	device_of_disk(device, &context->slot->device, major(disk), minor(disk));
	return fd;
}

/* pause_until_due - hold to a request every so many ns; 0: as many as there can be
 *
 * due_ns is when the last one was due. Of a stall no more than LATE_NS is made up for.
 */
static void pause_until_due(uint64_t *due_ns, double every_ns)
{
	uint64_t now_ns;

	if (every_ns <= 0)
		return;
	now_ns = clock_ns();
	*due_ns += (uint64_t)every_ns;
	if (now_ns > *due_ns + LATE_NS)
		*due_ns = now_ns - LATE_NS;
	clock_sleep_until(*due_ns);
}

/* read_on - read until killed, or until a read fails */
static void read_on(struct load_context *context, int fd, uint64_t places, size_t size,
		    uint64_t iops, const struct device *device)
{
	/* Not in the probe's own memory, all of which measuring locks. */
	char *bytes = aligned_alloc(ALIGN, MOST_BYTES);
	struct load_device *shown = device->shown;
	uint64_t place = 0, due_ns = clock_ns(), counted_ns = 0;
	double every_ns = iops ? (double)NS_PER_S / (double)iops : 0;

	if (!bytes) {
		load_fail(context, "no memory for a read of %lu bytes", (unsigned long)size);
		return;
	}
	for (;;) {
		uint64_t now_ns = clock_ns();
		if (now_ns - counted_ns >= COUNT_NS) {
			device_count(device);
			counted_ns = now_ns;
		}
		place = place * FACTOR + ADDEND;
		ssize_t got = pread(fd, bytes, size, (off_t)((place >> HIGH_BITS) % places * size));
		if (got <= 0 && !(got < 0 && errno == EINTR)) {
			load_fail(context, "a read of %.60s failed: %s", context->argv[PATH],
				  got ? strerror(errno) : "it has become shorter");
			free(bytes);
			return;
		}
		if (got > 0) {
			load_count(context, (uint64_t)got);
			atomic_fetch_add_explicit(&shown->counted[LOAD_RECEIVED], (uint64_t)got,
						  memory_order_relaxed);
		}
		pause_until_due(&due_ns, every_ns);
	}
}

void load_block(struct load_context *context)
{
	char *const *argv = context->argv;
	struct device device;
	size_t count = 0;
	uint64_t bytes;

	while (argv && argv[count])
		count++;
	unsigned long size = count == ARGUMENTS ? strtoul(argv[SIZE], NULL, 10) : 0;
	if (!size || size > MOST_BYTES) {
		load_fail(context, "needs PATH, a size and requests a second");
		return;
	}
	int fd = open_target(context, argv[PATH], &bytes, &device);
	if (fd < 0)
		return;
	if (bytes < size) {
		load_fail(context, "%.80s is smaller than a read of %lu bytes", argv[PATH], size);
		return;
	}
	read_on(context, fd, bytes / size, size, strtoull(argv[IOPS], NULL, 10), &device);
}
