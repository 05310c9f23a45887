// SPDX-License-Identifier: MIT
/* A file from the host, written in pieces; it replaces the old one when it is complete. */
#ifndef WHYLATE_PUT_H
#define WHYLATE_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/messages.h"

#define PUT_PATH (WIRE_LONGEST_PATH + 1)

struct put {
	bool is_open;
	int fd;
	char path[PUT_PATH];
	char temporary[PUT_PATH + 16];
	uint64_t size;
	uint64_t written;
};

/* put_piece - write a piece, and rename the file with the last one. Returns 0, or an errno with the
 * text; then nothing is left of the file. */
int put_piece(struct put *put, const struct wire_put *piece, char *text);

/* put_abort - remove an incomplete file */
void put_abort(struct put *put);

#endif
