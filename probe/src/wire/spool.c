// SPDX-License-Identifier: MIT
#include "spool.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE (256u * 1024)

/* What stands before each message. */
struct head {
	uint8_t kind;
	uint16_t length;
};

struct spool_chunk {
	struct spool_chunk *next;
	size_t used;
	uint8_t data[CHUNK_SIZE];
};

static struct spool_chunk *grow(struct spool *spool)
{
	struct spool_chunk *chunk;

	if (spool->size + sizeof(*chunk) > spool->limit)
		return NULL;
	chunk = malloc(sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->used = 0;
	if (spool->last)
		spool->last->next = chunk;
	else
		spool->first = chunk;
	spool->last = chunk;
	spool->size += sizeof(*chunk);
	return chunk;
}

bool spool_open(struct spool *spool, size_t limit)
{
	*spool = (struct spool){.limit = limit};
	return grow(spool) != NULL;
}

bool spool_put(struct spool *spool, uint8_t kind, const uint8_t *data, size_t length)
{
	struct spool_chunk *chunk = spool->last;
	struct head head = {kind, (uint16_t)length};

	if (chunk->used + sizeof(head) + length > CHUNK_SIZE) {
		chunk = grow(spool);
		if (!chunk)
			return false;
	}
	memcpy(chunk->data + chunk->used, &head, sizeof(head));
	memcpy(chunk->data + chunk->used + sizeof(head), data, length);
	chunk->used += sizeof(head) + length;
	return true;
}

struct spool_reader spool_read(const struct spool *spool)
{
	return (struct spool_reader){.chunk = spool->first};
}

bool spool_next(struct spool_reader *reader, uint8_t *kind, uint8_t **data, size_t *length)
{
	struct head head;

	while (reader->chunk && reader->at == reader->chunk->used) {
		reader->chunk = reader->chunk->next;
		reader->at = 0;
	}
	if (!reader->chunk)
		return false;
	memcpy(&head, reader->chunk->data + reader->at, sizeof(head));
	*kind = head.kind;
	*data = (uint8_t *)reader->chunk->data + reader->at + sizeof(head);
	*length = head.length;
	reader->at += sizeof(head) + head.length;
	return true;
}

void spool_release(struct spool *spool)
{
	while (spool->first) {
		struct spool_chunk *next = spool->first->next;

		free(spool->first);
		spool->first = next;
	}
	spool->last = NULL;
}
