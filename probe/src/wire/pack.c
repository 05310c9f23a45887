// SPDX-License-Identifier: MIT
#include "pack.h"

#include <string.h>

/* Bytes of an integer, or of an element of a list; 0: its own length precedes it. */
static const uint8_t sizes[] = {
    [WIRE_U8] = 1,  [WIRE_U16] = 2,	 [WIRE_U32] = 4,      [WIRE_U64] = 8,
    [WIRE_I32] = 4, [WIRE_LIST_U16] = 2, [WIRE_LIST_U64] = 8, [WIRE_LIST_STR] = 0,
};

/* ---------------------------------------------------------------- writing */

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

static void write_integer(struct wire_writer *writer, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	wire_store(bytes, value, size);
	wire_write_raw(writer, bytes, size);
}

static void write_field(struct wire_writer *writer, uint8_t type, const void *field)
{
	const struct wire_bytes *bytes = field;
	const struct wire_list *list = field;

	switch (type) {
	case WIRE_U8:
		write_integer(writer, *(const uint8_t *)field, 1);
		break;
	case WIRE_U16:
		write_integer(writer, *(const uint16_t *)field, 2);
		break;
	case WIRE_U32:
	case WIRE_I32:
		write_integer(writer, *(const uint32_t *)field, 4);
		break;
	case WIRE_U64:
		write_integer(writer, *(const uint64_t *)field, 8);
		break;
	case WIRE_BYTES:
		write_integer(writer, bytes->length, 2);
		wire_write_raw(writer, bytes->data, bytes->length);
		break;
	default: /* the elements of a list already lie in the order of the wire */
		write_integer(writer, list->count, 2);
		wire_write_raw(writer, list->data, list->size);
	}
}

void wire_pack(struct wire_writer *writer, uint8_t kind, const void *message)
{
	const struct wire_layout *layout = &wire_layouts[kind];

	for (size_t i = 0; i < layout->field_count; i++)
		write_field(writer, layout->fields[i].type,
			    (const uint8_t *)message + layout->fields[i].offset);
}

/* ---------------------------------------------------------------- reading */

struct reader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

/* next_bytes - the next length bytes, or NULL and failed */
static const uint8_t *next_bytes(struct reader *reader, size_t length)
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

static uint64_t read_integer(struct reader *reader, size_t size)
{
	const uint8_t *piece = next_bytes(reader, size);

	return piece ? wire_load(piece, size) : 0;
}

static struct wire_bytes read_bytes(struct reader *reader)
{
	struct wire_bytes bytes = {.length = (uint16_t)read_integer(reader, 2)};

	bytes.data = next_bytes(reader, bytes.length);
	return bytes.data ? bytes : (struct wire_bytes){0};
}

/* read_list - a list of elements of one size; 0: of strings */
static struct wire_list read_list(struct reader *reader, size_t element)
{
	struct wire_list list = {.count = (uint16_t)read_integer(reader, 2)};

	list.data = reader->data;
	if (element)
		next_bytes(reader, element * list.count);
	else
		for (uint16_t i = 0; i < list.count && !reader->failed; i++)
			read_bytes(reader);
	list.size = (size_t)(reader->data - list.data);
	return reader->failed ? (struct wire_list){0} : list;
}

static void read_field(struct reader *reader, uint8_t type, void *field)
{
	switch (type) {
	case WIRE_U8:
		*(uint8_t *)field = (uint8_t)read_integer(reader, 1);
		break;
	case WIRE_U16:
		*(uint16_t *)field = (uint16_t)read_integer(reader, 2);
		break;
	case WIRE_U32:
	case WIRE_I32:
		*(uint32_t *)field = (uint32_t)read_integer(reader, 4);
		break;
	case WIRE_U64:
		*(uint64_t *)field = read_integer(reader, 8);
		break;
	case WIRE_BYTES:
		*(struct wire_bytes *)field = read_bytes(reader);
		break;
	default:
		*(struct wire_list *)field = read_list(reader, sizes[type]);
	}
}

bool wire_unpack(uint8_t kind, const uint8_t *payload, size_t length, void *message)
{
	const struct wire_layout *layout = &wire_layouts[kind];
	struct reader reader = {payload, length, false};

	for (size_t i = 0; i < layout->field_count; i++)
		read_field(&reader, layout->fields[i].type,
			   (uint8_t *)message + layout->fields[i].offset);
	return layout->name && !reader.failed && reader.left == 0;
}

/* ---------------------------------------------------------------- ranges */

static bool is_within(const struct wire_field *field, const void *value)
{
	const struct wire_list *list = value;
	uint64_t number = 0;

	switch (field->type) {
	case WIRE_U8:
		number = *(const uint8_t *)value;
		break;
	case WIRE_U16:
		number = *(const uint16_t *)value;
		break;
	case WIRE_U32:
		number = *(const uint32_t *)value;
		break;
	case WIRE_U64:
		number = *(const uint64_t *)value;
		break;
	case WIRE_I32:
		return *(const int32_t *)value >= field->least &&
		       *(const int32_t *)value <= (int64_t)field->most;
	case WIRE_LIST_U16:
	case WIRE_LIST_U64:
		for (size_t i = 0; i < list->count; i++) {
			number = wire_load(list->data + i * sizes[field->type], sizes[field->type]);
			if (number < (uint64_t)field->least || number > field->most)
				return false;
		}
		return true;
	default:
		return true;
	}
	return number >= (uint64_t)field->least && number <= field->most;
}

const char *wire_out_of_range(uint8_t kind, const void *message)
{
	const struct wire_layout *layout = &wire_layouts[kind];

	for (size_t i = 0; i < layout->field_count; i++)
		if (!is_within(&layout->fields[i],
			       (const uint8_t *)message + layout->fields[i].offset))
			return layout->fields[i].name;
	return NULL;
}

/* ---------------------------------------------------------------- values of fields */

uint16_t wire_list_u16(struct wire_list list, size_t index)
{
	return (uint16_t)wire_load(list.data + 2 * index, 2);
}

uint16_t wire_list_most_u16(struct wire_list list)
{
	uint16_t most = 0;

	for (size_t i = 0; i < list.count; i++)
		if (wire_list_u16(list, i) > most)
			most = wire_list_u16(list, i);
	return most;
}

uint64_t wire_list_u64(struct wire_list list, size_t index)
{
	return wire_load(list.data + 8 * index, 8);
}

struct wire_bytes wire_list_next_str(struct wire_list *list)
{
	struct reader reader = {list->data, list->size, false};
	struct wire_bytes text = read_bytes(&reader);

	list->data = reader.data;
	list->size = reader.left;
	list->count--;
	return text;
}

struct wire_list wire_list_of_u16(uint8_t *room, const uint16_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_store(room + 2 * i, values[i], 2);
	return (struct wire_list){room, 2 * count, (uint16_t)count};
}

struct wire_list wire_list_of_u64(uint8_t *room, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_store(room + 8 * i, values[i], 8);
	return (struct wire_list){room, 8 * count, (uint16_t)count};
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

bool wire_copy_argv(struct wire_list words, char *text, size_t room, size_t *length)
{
	*length = 0;
	while (words.count) {
		struct wire_bytes word = wire_list_next_str(&words);

		if (!wire_copy_text(word, text + *length, room - *length))
			return false;
		*length += word.length + 1u;
	}
	return true;
}
