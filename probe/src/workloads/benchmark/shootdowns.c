// SPDX-License-Identifier: MIT
#include "shootdowns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_ROOM ((size_t)1 << 16)
#define MOST_ROOM ((size_t)1 << 26)

/* read_file - read all of the file; returns its length, 0 where that fails or it is too long */
static size_t read_file(const struct shootdowns *shootdowns)
{
	size_t length = 0;

	while (length + 1 < shootdowns->room) {
		ssize_t got = pread(shootdowns->fd, shootdowns->text + length,
				    shootdowns->room - 1 - length, (off_t)length);

		if (got <= 0) {
			shootdowns->text[length] = '\0';
			return got ? 0 : length;
		}
		length += (size_t)got;
	}
	return 0;
}

/* column_of - return the place of a CPU in the heading, which has the CPUs that are online: from 1;
 * 0: it is none of them */
static size_t column_of(const char *text, uint16_t cpu)
{
	const char *end = strchr(text, '\n');
	unsigned number;
	int length;
	size_t place = 0;

	while (end && text < end && sscanf(text, " CPU%u%n", &number, &length) == 1) {
		place++;
		if (number == cpu)
			return place;
		text += length;
	}
	return 0;
}

/* row_value - return the value in a column of the row; false where there is none */
static bool row_value(const char *text, size_t column, uint64_t *value)
{
	const char *row = strstr(text, "\nTLB:");
	char *end;

	if (!row)
		return false;
	row += strlen("\nTLB:");
	for (size_t i = 0; i < column; i++) {
		*value = strtoull(row, &end, 10);
		if (end == row)
			return false;
		row = end;
	}
	return true;
}

/* grow - make room for all of the file; returns 0 or an errno */
static int grow(struct shootdowns *shootdowns)
{
	for (size_t room = FILE_ROOM; room <= MOST_ROOM; room *= 2) {
		free(shootdowns->text);
		shootdowns->text = malloc(room);
		shootdowns->room = room;
		if (!shootdowns->text)
			return ENOMEM;
		if (read_file(shootdowns))
			return 0;
	}
	return EFBIG;
}

int shootdowns_open(struct shootdowns *shootdowns, uint16_t cpu)
{
	uint64_t value;
	int error;

	*shootdowns = (struct shootdowns){.fd = open("/proc/interrupts", O_RDONLY | O_CLOEXEC)};
	error = shootdowns->fd < 0 ? errno : grow(shootdowns);
	if (!error) {
		shootdowns->column = column_of(shootdowns->text, cpu);
		if (!shootdowns->column || !row_value(shootdowns->text, shootdowns->column, &value))
			error = ENOENT;
	}
	if (error)
		shootdowns_close(shootdowns);
	return error;
}

uint64_t shootdowns_read(const struct shootdowns *shootdowns)
{
	uint64_t value = 0;

	if (shootdowns->fd >= 0 && read_file(shootdowns))
		row_value(shootdowns->text, shootdowns->column, &value);
	return value;
}

void shootdowns_close(struct shootdowns *shootdowns)
{
	if (shootdowns->fd >= 0)
		close(shootdowns->fd);
	free(shootdowns->text);
	*shootdowns = (struct shootdowns){.fd = -1};
}
