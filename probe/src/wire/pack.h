// SPDX-License-Identifier: MIT
/* Fields to bytes and back: the layout that schema/wire.toml describes. */
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

/* A list as it lies in the payload: elements are taken with wire_list_*(). */
struct wire_list {
	const uint8_t *data;
	size_t size; /* in bytes */
	uint16_t count;
};

struct wire_writer {
	uint8_t *data;
	size_t room;
	size_t length;
	bool failed; /* something did not fit; length is then meaningless */
};

struct wire_reader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

void wire_write_raw(struct wire_writer *writer, const void *data, size_t length);
void wire_write_u8(struct wire_writer *writer, uint8_t value);
void wire_write_u16(struct wire_writer *writer, uint16_t value);
void wire_write_u32(struct wire_writer *writer, uint32_t value);
void wire_write_u64(struct wire_writer *writer, uint64_t value);
void wire_write_i32(struct wire_writer *writer, int32_t value);
void wire_write_bytes(struct wire_writer *writer, struct wire_bytes value);
void wire_write_list_u16(struct wire_writer *writer, struct wire_list value);
void wire_write_list_u64(struct wire_writer *writer, struct wire_list value);
void wire_write_list_str(struct wire_writer *writer, struct wire_list value);

uint8_t wire_read_u8(struct wire_reader *reader);
uint16_t wire_read_u16(struct wire_reader *reader);
uint32_t wire_read_u32(struct wire_reader *reader);
uint64_t wire_read_u64(struct wire_reader *reader);
int32_t wire_read_i32(struct wire_reader *reader);
struct wire_bytes wire_read_bytes(struct wire_reader *reader);
struct wire_list wire_read_list_u16(struct wire_reader *reader);
struct wire_list wire_read_list_u64(struct wire_reader *reader);
struct wire_list wire_read_list_str(struct wire_reader *reader);

/* wire_reader_done - whether everything was there and nothing was left over */
bool wire_reader_done(const struct wire_reader *reader);

uint16_t wire_list_u16(struct wire_list list, size_t index);
uint64_t wire_list_u64(struct wire_list list, size_t index);

/* wire_list_next_str - take the next string off a list<str>; count must say there is one */
struct wire_bytes wire_list_next_str(struct wire_list *list);

/* wire_text - a C string as a field; what is over 65535 bytes is cut */
struct wire_bytes wire_text(const char *text);

/* wire_copy_text - a field as a C string; false where it has a NUL inside or does not fit */
bool wire_copy_text(struct wire_bytes field, char *text, size_t room);

uint64_t wire_load_u64(const uint8_t *data);
uint32_t wire_load_u32(const uint8_t *data);
void wire_store_u64(uint8_t *data, uint64_t value);
void wire_store_u32(uint8_t *data, uint32_t value);
void wire_store_u16(uint8_t *data, uint16_t value);

#endif
