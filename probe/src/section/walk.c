// SPDX-License-Identifier: MIT
#include "walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code_area.h"
#include "failure.h"
#include "thread.h"

/* A walk comes after so long, from and to: it takes up to 2 ms. */
#define LEAST_NS (5 * UINT64_C(1000000))
#define MOST_NS	 (15 * UINT64_C(1000000))
/* Functions that a check calls: 16 KiB, which all caches of instructions hold. */
#define CHECKED_CALLS 256u
/* Pages that are touched: as many as second-level TLBs translate, or more (1,024 to 4,096). */
#define PAGES 4096u
/* Pages that a check touches: second-level TLBs hold them. */
#define CHECKED_PAGES 256u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---------------------------------------------------------------- code */

static void call_code(const void *context, bool is_treated)
{
	const struct section_walk *walk = context;

	code_area_call(walk->area, walk->count, is_treated ? WALK_LINE_BYTES : 0);
}

static void call_checked(const void *context)
{
	const struct section_walk *walk = context;

	code_area_call(walk->check, CHECKED_CALLS, WALK_LINE_BYTES);
}

/* ---------------------------------------------------------------- pages */

/* touch - read a line of each of so many pages, another one each time: so that they do not all
 * lie in the same sets of a cache */
static void touch(const char *area, uint32_t pages)
{
	size_t size = page_bytes();

	for (uint32_t i = 0; i < pages; i++)
		*(const volatile char *)(area + i * size + i * WALK_LINE_BYTES % size);
}

static void touch_pages(const void *context, bool is_treated)
{
	const struct section_walk *walk = context;

	if (is_treated) {
		touch(walk->area, walk->count);
		return;
	}
	/* As many lines, side by side: the caches are as full, and few translations are used. */
	for (uint32_t i = 0; i < walk->count; i++)
		*(const volatile char *)(walk->others + (size_t)i * WALK_LINE_BYTES);
}

static void touch_checked(const void *context)
{
	const struct section_walk *walk = context;

	touch(walk->check, CHECKED_PAGES);
}

/* ---------------------------------------------------------------- planning */

/* small_pages - map memory that has no large pages, and touch all of it; NULL with errno */
static char *small_pages(size_t bytes)
{
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return NULL;
	/* EINVAL: the kernel has none. */
	madvise(area, bytes, MADV_NOHUGEPAGE);
	memset(area, 1, bytes);
	return area;
}

/* sizes_of - return the bytes of the area, of what a check reads, and of the placebo's memory */
static void sizes_of(const struct section_walk *walk, size_t sizes[3])
{
	if (walk->treatment == TREATMENT_CODE) {
		sizes[0] = WALK_BYTES;
		sizes[1] = CHECKED_CALLS * WALK_LINE_BYTES;
		sizes[2] = 0;
		return;
	}
	sizes[0] = PAGES * page_bytes();
	sizes[1] = CHECKED_PAGES * page_bytes();
	sizes[2] = PAGES * WALK_LINE_BYTES;
}

int walk_plan(struct section_walk *walk, enum section_treatment treatment, char *text)
{
	bool is_code = treatment == TREATMENT_CODE;
	size_t sizes[3];

	/* With pages of 64 KiB that is 256 MiB. */
	if (!is_code && (long)PAGES > sysconf(_SC_AVPHYS_PAGES) / 2)
		return fail(text, ENOMEM, "touching %u pages takes more than half of free memory",
			    PAGES);
	*walk = (struct section_walk){.treatment = treatment};
	walk->count = is_code ? WALK_BYTES / WALK_LINE_BYTES : PAGES;
	sizes_of(walk, sizes);
	walk->area = is_code ? code_area_make(sizes[0], WALK_LINE_BYTES) : small_pages(sizes[0]);
	if (walk->area)
		walk->check =
		    is_code ? code_area_make(sizes[1], WALK_LINE_BYTES) : small_pages(sizes[1]);
	if (walk->check && !is_code)
		walk->others = small_pages(sizes[2]);
	if (!walk->check || (!is_code && !walk->others)) {
		int error = errno;

		walk_close(walk);
		return fail(text, error, "no memory to walk over: %s", strerror(error));
	}
	return 0;
}

int walk_start(struct section_walk *walk, struct section_cpu *cpu, uint16_t number, size_t most,
	       char *text)
{
	bool is_code = walk->treatment == TREATMENT_CODE;
	struct armer *armer;
	int error;

	if (!walk->armers)
		walk->armers = calloc(most, sizeof(*walk->armers));
	if (!walk->armers)
		return fail(text, ENOMEM, "no memory for %zu CPUs", most);
	armer = &walk->armers[walk->armer_count];
	*armer = (struct armer){.apply = is_code ? call_code : touch_pages,
				.read = is_code ? call_checked : touch_checked,
				.context = walk,
				.cpu = cpu,
				.least_ns = LEAST_NS,
				.most_ns = MOST_NS};
	error = armer_start(armer, number);
	/* The CPU is not online. */
	if (error == EINVAL)
		return 0;
	if (error)
		return fail(text, error, "no thread on CPU %u: %s", number, strerror(error));
	walk->armer_count++;
	return 0;
}

void walk_stop(struct section_walk *walk)
{
	for (size_t i = 0; i < walk->armer_count; i++)
		armer_stop(&walk->armers[i]);
}

void walk_close(struct section_walk *walk)
{
	char *areas[3] = {walk->area, walk->check, walk->others};
	size_t sizes[3];

	walk_stop(walk);
	free(walk->armers);
	sizes_of(walk, sizes);
	for (size_t i = 0; i < 3; i++)
		if (areas[i])
			munmap(areas[i], sizes[i]);
	*walk = (struct section_walk){0};
}
