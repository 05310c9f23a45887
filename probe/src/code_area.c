// SPDX-License-Identifier: MIT
#include "code_area.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
static const unsigned char return_code[] = {0xc3};
#elif defined(__aarch64__)
static const unsigned char return_code[] = {0xc0, 0x03, 0x5f, 0xd6};
#elif defined(__arm__)
/* bx lr */
static const unsigned char return_code[] = {0x1e, 0xff, 0x2f, 0xe1};
#elif defined(__riscv)
/* jalr zero, 0(ra) */
static const unsigned char return_code[] = {0x67, 0x80, 0x00, 0x00};
#else
#define NO_CODE
static const unsigned char return_code[] = {0};
#endif

char *code_area_make(size_t bytes, size_t stride)
{
	char *area;

#ifdef NO_CODE
	errno = EOPNOTSUPP;
	return NULL;
#endif
	area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	for (size_t at = 0; at < bytes; at += stride)
		memcpy(area + at, return_code, sizeof(return_code));
	__builtin___clear_cache(area, area + bytes);
	if (!mprotect(area, bytes, PROT_READ | PROT_EXEC))
		return area;
	munmap(area, bytes);
	return NULL;
}

void code_area_call(const char *area, size_t count, size_t stride)
{
	for (size_t i = 0; i < count; i++) {
		const char *place = area + i * stride;
		void (*function)(void);

		/* ISO C converts no pointer to data into one to a function. */
		memcpy(&function, &place, sizeof(function));
		function();
	}
}
