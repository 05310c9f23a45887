// SPDX-License-Identifier: MIT
#include "handover.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "small_file.h"

#define DEVICES "/sys/bus/pci/devices"
/* QEMU: docs/specs/pci-ids.rst, docs/specs/pvpanic.rst, docs/specs/ivshmem-spec.rst. */
#define PVPANIC		 "0x1b36 0x0011"
#define IVSHMEM		 "0x1af4 0x1110"
#define PVPANIC_PANICKED 1
#define LONGEST_ID	 16
/* Bytes of the lines of its `resource` file, up to those of regions that are mapped. */
#define RESOURCES 512
#define PIECE	  65536
#define SETTLE_US 20000

/* A region of a PCI device. */
struct region {
	volatile uint8_t *bytes;
	size_t size;
};

/* map_region - map a region of a device after enabling the device; returns 0 or an errno
 *
 * A small region begins within a page. */
static int map_region(int device, int number, struct region *region)
{
	char text[RESOURCES], name[LONGEST_ID], *line = text;
	uint64_t first, last, offset;
	uint8_t *page;
	int error, fd;

	error = small_file_write(device, "enable", "1");
	if (error)
		return error;
	small_file_read(device, "resource", text, sizeof(text));
	for (int i = 0; i < number && line; i++) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (!line || sscanf(line, "%" SCNx64 " %" SCNx64, &first, &last) != 2 || last < first)
		return ENXIO;
	snprintf(name, sizeof(name), "resource%d", number);
	fd = openat(device, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	offset = first & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	region->size = (size_t)(last - first + 1);
	page = mmap(NULL, (size_t)offset + region->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	error = page == MAP_FAILED ? errno : 0;
	region->bytes = page + offset;
	close(fd);
	return error;
}

/* find_region - map a region of the first device with that vendor and device; 0 or an errno */
static int find_region(const char *ids, int number, struct region *region)
{
	DIR *devices = opendir(DEVICES);
	int error = ENODEV;
	struct dirent *entry;

	while (devices && error == ENODEV && (entry = readdir(devices))) {
		char vendor[LONGEST_ID], kind[LONGEST_ID], both[2 * LONGEST_ID];
		int device =
		    openat(dirfd(devices), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (device < 0)
			continue;
		small_file_line(device, "vendor", vendor, sizeof(vendor));
		small_file_line(device, "device", kind, sizeof(kind));
		snprintf(both, sizeof(both), "%s %s", vendor, kind);
		if (!strcmp(both, ids))
			error = map_region(device, number, region);
		close(device);
	}
	if (devices)
		closedir(devices);
	return error;
}

/* write_all - write all bytes; returns 0 or an errno */
static int write_all(int out, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(out, bytes, size);

		if (written < 0 && errno != EINTR)
			return errno;
		if (written > 0) {
			bytes += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

/* write_shared - write what the memory holds: a number of bytes, and the bytes
 *
 * The memory is a device's, which write(2) cannot read everywhere: it is copied by words first. */
static int write_shared(int out, const struct region *shared)
{
	static uint64_t piece[PIECE / sizeof(uint64_t)];
	const volatile uint64_t *words = (const volatile uint64_t *)shared->bytes;
	uint64_t left = shared->size < sizeof(*words) ? 0 : le64toh(*words++);
	int error = 0;

	if (left == 0 || left > shared->size - sizeof(*words))
		return EBADMSG;
	while (left > 0 && !error) {
		size_t size = left < PIECE ? (size_t)left : PIECE;

		for (size_t i = 0; i * sizeof(*words) < size; i++)
			piece[i] = *words++;
		error = write_all(out, (const uint8_t *)piece, size);
		left -= size;
	}
	return error;
}

int handover_write(int out)
{
	struct region stop, shared;
	const char *what = "the shared memory";
	int error = find_region(IVSHMEM, 2, &shared);

	if (!error) {
		what = "the device that stops the board";
		error = find_region(PVPANIC, 0, &stop);
	}
	if (!error) {
		/* The CPUs take turns in the emulator, and which one's turn it is is not in a
		 * snapshot: all are idle before and after it. */
		usleep(SETTLE_US);
		stop.bytes[0] = PVPANIC_PANICKED;
		usleep(SETTLE_US);
		what = "the files of the run";
		error = write_shared(out, &shared);
	}
	if (error)
		fprintf(stderr, "whylate-probe: %s: %s\n", what, strerror(error));
	return error;
}
