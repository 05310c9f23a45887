// SPDX-License-Identifier: MIT
#include "pack.h"

#include <string.h>

void wire_store_u16(uint8_t *data, uint16_t value)
{
	data[0] = (uint8_t)value;
	data[1] = (uint8_t)(value >> 8);
}

void wire_store_u32(uint8_t *data, uint32_t value)
{
	wire_store_u16(data, (uint16_t)value);
	wire_store_u16(data + 2, (uint16_t)(value >> 16));
}

void wire_store_u64(uint8_t *data, uint64_t value)
{
	wire_store_u32(data, (uint32_t)value);
	wire_store_u32(data + 4, (uint32_t)(value >> 32));
}

static uint16_t load_u16(const uint8_t *data)
{
	return (uint16_t)(data[0] | data[1] << 8);
}

uint32_t wire_load_u32(const uint8_t *data)
{
	return load_u16(data) | (uint32_t)load_u16(data + 2) << 16;
}

uint64_t wire_load_u64(const uint8_t *data)
{
	return wire_load_u32(data) | (uint64_t)wire_load_u32(data + 4) << 32;
}

void wire_write_raw(struct wire_writer *writer, const void *data, size_t length)
{
	if (writer->failed || length > writer->room - writer->length) {
		writer->failed = true;
		return;
	}
	if (length)
		memcpy(writer->data + writer->length, data, length);
	writer->length += length;
}

void wire_write_u8(struct wire_writer *writer, uint8_t value)
{
	wire_write_raw(writer, &value, 1);
}

void wire_write_u16(struct wire_writer *writer, uint16_t value)
{
	uint8_t bytes[2];

	wire_store_u16(bytes, value);
	wire_write_raw(writer, bytes, sizeof(bytes));
}

void wire_write_u32(struct wire_writer *writer, uint32_t value)
{
	uint8_t bytes[4];

	wire_store_u32(bytes, value);
	wire_write_raw(writer, bytes, sizeof(bytes));
}

void wire_write_u64(struct wire_writer *writer, uint64_t value)
{
	uint8_t bytes[8];

	wire_store_u64(bytes, value);
	wire_write_raw(writer, bytes, sizeof(bytes));
}

void wire_write_i32(struct wire_writer *writer, int32_t value)
{
	wire_write_u32(writer, (uint32_t)value);
}

void wire_write_bytes(struct wire_writer *writer, struct wire_bytes value)
{
	wire_write_u16(writer, value.length);
	wire_write_raw(writer, value.data, value.length);
}

/* write_list - a list goes out as it came in: its elements already lie in wire order */
static void write_list(struct wire_writer *writer, struct wire_list value)
{
	wire_write_u16(writer, value.count);
	wire_write_raw(writer, value.data, value.size);
}

void wire_write_list_u16(struct wire_writer *writer, struct wire_list value)
{
	write_list(writer, value);
}

void wire_write_list_u64(struct wire_writer *writer, struct wire_list value)
{
	write_list(writer, value);
}

void wire_write_list_str(struct wire_writer *writer, struct wire_list value)
{
	write_list(writer, value);
}

/* take - the next length bytes, or NULL and failed */
static const uint8_t *take(struct wire_reader *reader, size_t length)
{
	const uint8_t *piece = reader->data;

	if (reader->failed || length > reader->left) {
		reader->failed = true;
		return NULL;
	}
	reader->data += length;
	reader->left -= length;
	return piece;
}

uint8_t wire_read_u8(struct wire_reader *reader)
{
	const uint8_t *piece = take(reader, 1);

	return piece ? *piece : 0;
}

uint16_t wire_read_u16(struct wire_reader *reader)
{
	const uint8_t *piece = take(reader, 2);

	return piece ? load_u16(piece) : 0;
}

uint32_t wire_read_u32(struct wire_reader *reader)
{
	const uint8_t *piece = take(reader, 4);

	return piece ? wire_load_u32(piece) : 0;
}

uint64_t wire_read_u64(struct wire_reader *reader)
{
	const uint8_t *piece = take(reader, 8);

	return piece ? wire_load_u64(piece) : 0;
}

int32_t wire_read_i32(struct wire_reader *reader)
{
	return (int32_t)wire_read_u32(reader);
}

struct wire_bytes wire_read_bytes(struct wire_reader *reader)
{
	struct wire_bytes value = {NULL, wire_read_u16(reader)};

	value.data = take(reader, value.length);
	if (!value.data)
		value.length = 0;
	return value;
}

/* read_list - a list of elements of one size */
static struct wire_list read_list(struct wire_reader *reader, size_t element)
{
	struct wire_list list = {NULL, 0, wire_read_u16(reader)};

	list.size = element * list.count;
	list.data = take(reader, list.size);
	if (!list.data) {
		list.count = 0;
		list.size = 0;
	}
	return list;
}

struct wire_list wire_read_list_u16(struct wire_reader *reader)
{
	return read_list(reader, 2);
}

struct wire_list wire_read_list_u64(struct wire_reader *reader)
{
	return read_list(reader, 8);
}

struct wire_list wire_read_list_str(struct wire_reader *reader)
{
	struct wire_list list = {NULL, 0, wire_read_u16(reader)};

	list.data = reader->data;
	for (uint16_t i = 0; i < list.count && !reader->failed; i++)
		wire_read_bytes(reader);
	if (reader->failed)
		return (struct wire_list){NULL, 0, 0};
	list.size = (size_t)(reader->data - list.data);
	return list;
}

bool wire_reader_done(const struct wire_reader *reader)
{
	return !reader->failed && reader->left == 0;
}

uint16_t wire_list_u16(struct wire_list list, size_t index)
{
	return load_u16(list.data + 2 * index);
}

uint64_t wire_list_u64(struct wire_list list, size_t index)
{
	return wire_load_u64(list.data + 8 * index);
}

struct wire_bytes wire_list_next_str(struct wire_list *list)
{
	struct wire_reader reader = {list->data, list->size, false};
	struct wire_bytes text = wire_read_bytes(&reader);

	list->data = reader.data;
	list->size = reader.left;
	list->count--;
	return text;
}

struct wire_bytes wire_text(const char *text)
{
	size_t length = strlen(text);

	return (struct wire_bytes){(const uint8_t *)text,
				   (uint16_t)(length > UINT16_MAX ? UINT16_MAX : length)};
}

bool wire_copy_text(struct wire_bytes field, char *text, size_t room)
{
	if (field.length >= room || (field.length && memchr(field.data, 0, field.length)))
		return false;
	if (field.length)
		memcpy(text, field.data, field.length);
	text[field.length] = '\0';
	return true;
}
