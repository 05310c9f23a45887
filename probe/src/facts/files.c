// SPDX-License-Identifier: MIT
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/send.h"

#define MAX_PATHS 4096
/* syslog(2) has no names for its actions outside the kernel. */
#define LOG_READ_ALL	3
#define LOG_SIZE_BUFFER 10
/* The most of a log that is read: the boot is at its beginning. */
#define LONGEST_LOG (8 << 20)
/* Longer ones would leave no room in a message for what is read. */
#define LONGEST_PATH WIRE_LONGEST_PATH

/* read_file - read up to limit + 1 bytes, to know whether there is more */
static int read_file(const char *path, uint64_t offset, uint8_t *data, size_t limit, size_t *length)
{
	/* Neither block on a FIFO nor acquire a controlling terminal. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	ssize_t got = 0;
	int error = 0;

	if (fd < 0)
		return errno;
	*length = 0;
	/* What a device returns may depend on the size that is read: read once, and no more. */
	if (fstat(fd, &status) == 0 && S_ISCHR(status.st_mode)) {
		got = pread(fd, data, limit, (off_t)offset);
		error = got < 0 ? errno : 0;
		*length = got < 0 ? 0 : (size_t)got;
		close(fd);
		return error;
	}
	do {
		/* Files of sysfs and procfs that cannot seek are read from their beginning. */
		got = offset ? pread(fd, data + *length, limit + 1 - *length,
				     (off_t)(offset + *length))
			     : read(fd, data + *length, limit + 1 - *length);
		if (got > 0)
			*length += (size_t)got;
	} while ((got > 0 && *length <= limit && !offset) || (got < 0 && errno == EINTR));
	if (got < 0 && *length == 0)
		error = errno;
	close(fd);
	return error;
}

static int read_names(const char *path, uint8_t *data, size_t limit, size_t *length)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return errno;
	*length = 0;
	while ((entry = readdir(directory)) != NULL) {
		size_t size = strlen(entry->d_name) + 1;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*length + size > limit) {
			*length = limit + 1;
			break;
		}
		memcpy(data + *length, entry->d_name, size);
		*length += size;
	}
	closedir(directory);
	return 0;
}

/*
 * read_kernel_log - read the oldest limit bytes, and limit + 1 where there is more
 *
 * Into a smaller buffer the kernel writes its newest lines, and the boot has the oldest: the buffer
 * holds all. With times and levels the text is longer than the kernel's own buffer.
 */
static int read_kernel_log(uint8_t *data, size_t limit, size_t *length)
{
	int buffer = klogctl(LOG_SIZE_BUFFER, NULL, 0);
	int error = 0, got, room;
	char *text;

	if (buffer < 0)
		return errno;
	room = buffer < LONGEST_LOG / 4 ? 4 * buffer : LONGEST_LOG;
	text = malloc((size_t)room + 1);
	if (!text)
		return ENOMEM;
	got = klogctl(LOG_READ_ALL, text, room);
	if (got < 0)
		error = errno;
	else
		*length = (size_t)got <= limit ? (size_t)got : limit + 1;
	if (!error)
		memcpy(data, text, *length);
	free(text);
	return error;
}

static int read_path(enum read_method method, const char *path, uint64_t offset, uint8_t *data,
		     size_t limit, size_t *length)
{
	ssize_t got;

	switch (method) {
	case FILES_FILE:
		return read_file(path, offset, data, limit, length);
	case FILES_LIST:
		return read_names(path, data, limit, length);
	case FILES_LINK:
		got = readlink(path, (char *)data, limit + 1);
		*length = got < 0 ? 0 : (size_t)got;
		return got < 0 ? errno : 0;
	case FILES_KERNEL_LOG:
		return read_kernel_log(data, limit, length);
	default:
		return EINVAL;
	}
}

/* send_contents - send what a path holds in pieces, or its errno; false: the host is gone */
static bool send_contents(struct sender *sender, uint32_t command, const struct files_request *what,
			  const char *path, uint8_t *data)
{
	size_t piece_size = sender->link.frame_limit < 512 ? 128 : WIRE_MAX_PAYLOAD - 512;
	size_t length = 0, at = 0;
	int error = read_path(what->method, path, what->offset, data, what->limit, &length);
	bool truncated = !error && length > what->limit;

	if (error)
		length = 0;
	else if (truncated)
		length = what->limit;
	do {
		size_t piece = length - at < piece_size ? length - at : piece_size;

		SEND(sender, file, FILE, .command = command, .error = error, .truncated = truncated,
		     .more = at + piece < length, .path = wire_text(path),
		     .data = {data + at, (uint16_t)piece});
		at += piece;
	} while (at < length && !sender_host_gone(sender));
	return !sender_look(sender);
}

int files_send(struct sender *sender, uint32_t command, const struct files_request *what)
{
	uint8_t *data = malloc(what->limit + 1);
	glob_t matches = {0};
	bool go_on = true;
	int error;

	if (!data)
		return ENOMEM;
	/* A path without wildcards is sent even where it is missing: its errno is a fact. */
	error = glob(what->pattern, GLOB_NOSORT | GLOB_NOMAGIC, NULL, &matches);
	for (size_t i = 0; !error && i < matches.gl_pathc && i < MAX_PATHS && go_on; i++)
		if (strlen(matches.gl_pathv[i]) <= LONGEST_PATH)
			go_on = send_contents(sender, command, what, matches.gl_pathv[i], data);
	if (error != GLOB_NOMATCH || matches.gl_pathc)
		globfree(&matches);
	free(data);
	return error == GLOB_NOSPACE ? ENOMEM : 0;
}
