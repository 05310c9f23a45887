// SPDX-License-Identifier: MIT
/* Reading the board's files for the host: what facts are made of. */
#ifndef WHYLATE_FILES_H
#define WHYLATE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/constants.h"

struct sender;

struct files_request {
	enum read_method method; /* FILES_KERNEL_LOG reads no file: the pattern names the answer */
	const char *pattern;	 /* as of glob(7) */
	uint64_t offset;
	size_t limit; /* bytes of each path */
};

/* files_send - send what matches a pattern; returns 0, or an errno for the pattern as a whole */
int files_send(struct sender *sender, uint32_t command, const struct files_request *what);

#endif
