// SPDX-License-Identifier: MIT
/* Code that does nothing, as much of it as is asked for: a function that returns in each line. */
#ifndef WHYLATE_CODE_AREA_H
#define WHYLATE_CODE_AREA_H

#include <stddef.h>

/* code_area_make - map functions, one every so many bytes; NULL with errno, EOPNOTSUPP for a
 * processor whose code is not known here
 *
 * They are written, and then made executable: a system that permits no memory to be both still
 * runs them.
 */
char *code_area_make(size_t bytes, size_t stride);

/* code_area_call - call so many functions, every so many bytes; stride 0: the first again and
 * again */
void code_area_call(const char *area, size_t count, size_t stride);

#endif
