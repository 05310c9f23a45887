// SPDX-License-Identifier: MIT
#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numbers.h"
#include "small_file.h"

/* Of a word of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PRESENT	   (1ull << 63)
#define FRAME_MASK ((1ull << 55) - 1)
#define WORDS	   4096

static size_t rounded_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

/*
 * huge_page - return the size of a huge page of that kind
 *
 * A transparent one is what an entry of the next table of pages points to, a page of entries of 8
 * bytes: 2 MiB of pages of 4 KiB, 32 MiB of those of 16 KiB. The kernel command line sets the size
 * that hugetlbfs gives.
 */
static size_t huge_page(enum buffer_pages pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), transparent = page / 8 * page;
	uint64_t kib = pages == PAGES_HUGETLB
			   ? small_file_number(AT_FDCWD, "/proc/meminfo", "Hugepagesize:")
			   : 0;

	return kib && kib <= SIZE_MAX >> 14 ? (size_t)kib << 10 : transparent;
}

/* reserve - reserve addresses, with room to begin at a huge page */
static uint8_t *reserve(size_t mapped, size_t huge)
{
	uint8_t *at = mmap(NULL, mapped + 3 * huge, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	return (uint8_t *)rounded_up((uintptr_t)at + huge, huge);
}

static int advise(const struct buffer *buffer, struct child_context *context)
{
	bool huge = buffer->pages == PAGES_THP;

	if (buffer->pages == PAGES_HUGETLB || buffer->pages == PAGES_AS_SET ||
	    madvise(buffer->bytes, buffer->mapped, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0)
		return 0;
	/* A kernel without huge pages refuses the advice to avoid them. */
	if (!huge && errno == EINVAL)
		return 0;
	return fail(context->text, errno, "this kernel has no transparent huge pages");
}

static void fill_random(uint8_t *bytes, size_t size)
{
	uint64_t state = 0x9E3779B97F4A7C15ull;

	for (size_t i = 0; i + sizeof(state) <= size; i += sizeof(state)) {
		/* Bytes below 0x80: ABSENT_BYTE is not among them. */
		uint64_t word = draw_u64(&state) & 0x7F7F7F7F7F7F7F7Full;

		memcpy(bytes + i, &word, sizeof(word));
	}
}

int buffer_open(struct buffer *buffer, struct child_context *context, size_t size,
		enum buffer_pages pages, enum buffer_content content)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	size_t huge = huge_page(pages);
	int error;

	*buffer = (struct buffer){.size = size, .pages = pages, .mapped = rounded_up(size, huge)};
	buffer->bytes = reserve(buffer->mapped, huge);
	if (!buffer->bytes)
		return fail(context->text, errno, "no addresses for %zu bytes", size);
	if (pages == PAGES_HUGETLB)
		flags |= MAP_HUGETLB;
	if (mmap(buffer->bytes, buffer->mapped, PROT_READ | PROT_WRITE, flags, -1, 0) ==
	    MAP_FAILED) {
		error = errno;
		if (pages == PAGES_HUGETLB)
			return fail(context->text, error,
				    "huge pages for %zu MiB are not reserved (%s): "
				    "see vm.nr_hugepages",
				    buffer->mapped >> 20, strerror(error));
		return fail(context->text, error, "no memory for %zu bytes: %s", size,
			    strerror(error));
	}
	error = advise(buffer, context);
	if (error)
		return error;
	if (content == CONTENT_ZEROS)
		memset(buffer->bytes, 0, buffer->size);
	else if (content == CONTENT_RANDOM)
		fill_random(buffer->bytes, buffer->size);
	return 0;
}

/* read_frames - read the frames of the pages that are in memory, and count these pages. frames:
 * room for all, or NULL. Returns 0, or an errno where the frames are not known. */
static int read_frames(const struct buffer *buffer, size_t page, uint64_t *frames,
		       struct backing *backing)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t words[WORDS];
	int error = frames ? 0 : ENOMEM;

	if (fd < 0)
		return errno;
	for (uint64_t done = 0; done < backing->pages;) {
		uint64_t left = backing->pages - done;
		size_t wanted = 8 * (size_t)(left < WORDS ? left : WORDS);
		off_t at = (off_t)(((uintptr_t)buffer->bytes / page + done) * 8);
		ssize_t got = pread(fd, words, wanted, at);

		if (got < 8) {
			error = got < 0 ? errno : EIO;
			break;
		}
		for (size_t i = 0; i < (size_t)got / 8; i++) {
			if (!(words[i] & PRESENT))
				continue;
			if (frames)
				frames[backing->present] = words[i] & FRAME_MASK;
			backing->present++;
			/* Without CAP_SYS_ADMIN the kernel shows the number 0. */
			if (!(words[i] & FRAME_MASK))
				error = EPERM;
		}
		done += (uint64_t)got / 8;
	}
	close(fd);
	return error;
}

static void count_frames(const struct buffer *buffer, struct backing *backing)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *frames;

	backing->pages = rounded_up(buffer->size, page) / page;
	frames = malloc(backing->pages * sizeof(*frames));
	backing->error = read_frames(buffer, page, frames, backing);
	if (!backing->error)
		qsort(frames, backing->present, sizeof(*frames), compare_u64);
	for (uint64_t i = 0; !backing->error && i < backing->present; i++)
		backing->frames += i == 0 || frames[i] != frames[i - 1];
	free(frames);
}

/* sum_huge - sum the huge pages of the mapping in smaps */
static void sum_huge(const struct buffer *buffer, struct backing *backing)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	uintptr_t begin, end, at = (uintptr_t)buffer->bytes;
	bool ours = false;
	char line[256];
	uint64_t kib;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
			ours = begin >= at && begin < at + buffer->mapped;
		else if (ours && sscanf(line, "AnonHugePages: %" SCNu64 " kB", &kib) == 1)
			backing->huge_bytes += kib << 10;
		else if (ours && sscanf(line, "Private_Hugetlb: %" SCNu64 " kB", &kib) == 1)
			backing->hugetlb_bytes += kib << 10;
	}
	if (file)
		fclose(file);
}

void buffer_backing(const struct buffer *buffer, struct backing *backing)
{
	*backing = (struct backing){0};
	count_frames(buffer, backing);
	sum_huge(buffer, backing);
}
