// SPDX-License-Identifier: MIT
#include "small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/meminfo and /proc/PID/status take less than a half. */
#define LONGEST 8192

int small_file_read(int directory, const char *path, char *text, size_t room)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = 0;
	int error;

	text[0] = '\0';
	if (fd < 0)
		return errno;
	while (length < room - 1) {
		got = read(fd, text + length, room - 1 - length);
		if (got <= 0 && !(got < 0 && errno == EINTR))
			break;
		if (got > 0)
			length += (size_t)got;
	}
	error = got < 0 && length == 0 ? errno : 0;
	text[length] = '\0';
	close(fd);
	return error;
}

bool small_file_line(int directory, const char *path, char *text, size_t room)
{
	small_file_read(directory, path, text, room);
	text[strcspn(text, "\n")] = '\0';
	return text[0];
}

uint64_t small_file_number(int directory, const char *path, const char *key)
{
	char text[LONGEST], *line = text;

	small_file_read(directory, path, text, sizeof(text));
	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

int small_file_write(int directory, const char *path, const char *text)
{
	int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno;
	error = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return error;
}
