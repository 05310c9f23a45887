// SPDX-License-Identifier: MIT
/* Messages that stay on the board until the run is over. */
#ifndef WHYLATE_SPOOL_H
#define WHYLATE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sample data in one block: what a frame holds on any line that is not a bad one. */
#define SPOOL_BLOCK 1024u

struct spool_chunk;

struct spool {
	struct spool_chunk *first;
	struct spool_chunk *last;
	size_t size;
	size_t limit;
};

struct spool_reader {
	const struct spool_chunk *chunk;
	size_t at;
};

/* spool_open - an empty spool that may grow to limit bytes */
bool spool_open(struct spool *spool, size_t limit);

/* spool_put - keep a message; false where there is no room: it is then lost */
bool spool_put(struct spool *spool, uint8_t kind, const uint8_t *data, size_t length);

struct spool_reader spool_read(const struct spool *spool);

/* spool_next - the next message in the order they were put; false at the end */
bool spool_next(struct spool_reader *reader, uint8_t *kind, uint8_t **data, size_t *length);

void spool_release(struct spool *spool);

#endif
