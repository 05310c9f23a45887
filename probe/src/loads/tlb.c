// SPDX-License-Identifier: MIT
/*
 * tlb - reads one word of each of 16,384 pages on every CPU
 *
 * Stresses the translation of addresses, and hardly the caches: no page is ever written to, so that
 * all of them are the kernel's one page of zeros, and every word read is the same line of a cache.
 * What runs then finds few of its translations in the TLB, and its code and data where they were.
 * The page tables that are read, 8 bytes a page, take 128 KiB of a cache.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kinds.h"
#include "workers.h"

/* Several times as many as any TLB of these processors has. */
#define PAGES 16384u

/* Set before the first pass. */
static size_t page_bytes;

static void read_pages(char *area)
{
	for (size_t page = 0; page < PAGES; page++)
		*(volatile const char *)(area + page * page_bytes);
}

void load_tlb(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct passes passes = {.pass = read_pages, .units = PAGES};

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	passes.area = mmap(NULL, PAGES * page_bytes, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (passes.area == MAP_FAILED) {
		load_fail(context, "cannot map %u pages: %s", PAGES, strerror(errno));
		return;
	}
	/* A huge page of zeros would need few translations. Kernels without them refuse. */
	madvise(passes.area, PAGES * page_bytes, MADV_NOHUGEPAGE);
	workers_pass(context, &passes);
}
