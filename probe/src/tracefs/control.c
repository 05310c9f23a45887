// SPDX-License-Identifier: MIT
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int control_write(int directory, const char *path, const char *value)
{
	int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, strlen(value)) < 0)
		error = errno;
	close(fd);
	return error;
}

int control_read(int directory, const char *path, char *text, size_t room)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = 0;
	int error;

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
