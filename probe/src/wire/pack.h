// SPDX-License-Identifier: MIT
/* Messages to bytes and back, by the tables that are generated from schema/wire.toml. */
#ifndef WHYLATE_WIRE_PACK_H
#define WHYLATE_WIRE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of a payload; not NUL-terminated, valid as long as the payload is. */
struct wire_bytes {
	const uint8_t *data;
	uint16_t length;
};

/* A list as it lies in the payload: elements are read with wire_list_*(). */
struct wire_list {
	const uint8_t *data;
	size_t size; /* in bytes */
	uint16_t count;
};

enum wire_type {
	WIRE_U8,
	WIRE_U16,
	WIRE_U32,
	WIRE_U64,
	WIRE_I32,
	WIRE_BYTES, /* a text too */
	WIRE_LIST_U16,
	WIRE_LIST_U64,
	WIRE_LIST_STR,
};

struct wire_field {
	const char *name;
	uint16_t offset; /* in the struct of the message */
	uint8_t type;	 /* enum wire_type */
	int64_t least;	 /* of an integer, or of each element of a list of integers */
	uint64_t most;
};

struct wire_layout {
	const char *name; /* NULL: there is no message of this kind */
	const struct wire_field *fields;
	uint8_t field_count;
};

/* By enum wire_kind. */
extern const struct wire_layout wire_layouts[256];

/* How a column of a block of numbers is encoded (schema/wire.toml). */
enum wire_encoding { COLUMN_PLAIN, COLUMN_STEP, COLUMN_MAYBE };

#define WIRE_MOST_COLUMNS 13

struct wire_columns {
	uint8_t count;
	uint8_t encoding[WIRE_MOST_COLUMNS];
};

/* By enum wire_block. */
extern const struct wire_columns wire_blocks[];

/* What a field of an event is (schema/wire.toml); 0: a number that is sent as it is. */
enum wire_event_field { FIELD_ADDRESS = 1, FIELD_INTERRUPT, FIELD_COMM, FIELD_LOCAL };

#define WIRE_EVENT_FIELDS 6

struct wire_writer {
	uint8_t *data;
	size_t room;
	size_t length;
	bool failed; /* something did not fit; length is then meaningless */
};

/* wire_pack - append a message's fields; message points to the struct of that kind */
void wire_pack(struct wire_writer *writer, uint8_t kind, const void *message);

/* wire_unpack - fill in the struct of that kind; false where the payload is not exactly one such
 * message. Its bytes and lists point into the payload. */
bool wire_unpack(uint8_t kind, const uint8_t *payload, size_t length, void *message);

/* wire_out_of_range - the name of a field whose value is out of its range; NULL: none is */
const char *wire_out_of_range(uint8_t kind, const void *message);

/* wire_write_raw - append bytes as they are */
void wire_write_raw(struct wire_writer *writer, const void *data, size_t length);

uint16_t wire_list_u16(struct wire_list list, size_t index);
uint64_t wire_list_u64(struct wire_list list, size_t index);

/* wire_list_most_u16 - the largest number of a list; 0 where it is empty */
uint16_t wire_list_most_u16(struct wire_list list);

/* wire_list_next_str - remove the first string of a list<str> that is not empty, and return it */
struct wire_bytes wire_list_next_str(struct wire_list *list);

/* wire_list_of_u16 - a list in `room`, which has 2 bytes for each of the values */
struct wire_list wire_list_of_u16(uint8_t *room, const uint16_t *values, size_t count);

/* wire_list_of_u64 - a list in `room`, which has 8 bytes for each of the values */
struct wire_list wire_list_of_u64(uint8_t *room, const uint64_t *values, size_t count);

/* wire_text - a C string as a field; what is over 65535 bytes is cut */
struct wire_bytes wire_text(const char *text);

/* wire_copy_text - a field as a C string; false where it has a NUL inside or does not fit */
bool wire_copy_text(struct wire_bytes field, char *text, size_t room);

/* wire_copy_argv - copy the strings of a list, a NUL behind each; false where they do
 * not fit. *length: their bytes, with the NULs. */
bool wire_copy_argv(struct wire_list words, char *text, size_t room, size_t *length);

/* wire_load - a little-endian integer of so many bytes */
static inline uint64_t wire_load(const uint8_t *data, size_t size)
{
	uint64_t value = 0;

	while (size--)
		value = value << 8 | data[size];
	return value;
}

/* wire_store - the same to memory */
static inline void wire_store(uint8_t *data, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(value >> 8 * i);
}

#endif
