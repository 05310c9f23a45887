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

#define MAX_PATHS 4096
/* syslog(2) has no names for its actions outside the kernel. */
#define LOG_READ_ALL	3
#define LOG_SIZE_BUFFER 10
/* All that we take of a log: the boot is at its beginning. */
#define LONGEST_LOG (8 << 20)
/* Longer ones would leave no room in a message for what is read. */
#define LONGEST_PATH WIRE_LONGEST_PATH

/* read_file - read up to limit + 1 bytes, to know whether there is more */
static int read_file(const char *path, uint64_t offset, uint8_t *data, size_t limit, size_t *length)
{
	/* Not a FIFO that blocks, not a terminal that becomes ours. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	ssize_t got = 0;
	int error = 0;

	if (fd < 0)
		return errno;
	*length = 0;
	/* A device may answer by the size of the question: ask once, for what was asked. */
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
 * Asked for fewer bytes than it has, the kernel gives its newest lines, and the boot is what we
 * want: all is asked for. With its times and levels the text is longer than the kernel's buffer.
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

int files_read(enum read_method method, const char *pattern, uint64_t offset, size_t limit,
	       size_t piece_size, bool (*send)(void *context, const struct files_piece *piece),
	       void *context)
{
	uint8_t *data = malloc(limit + 1);
	glob_t matches = {0};
	bool go_on = true;
	int error;

	if (!data)
		return ENOMEM;
	/* A path without wildcards is handed out even where it is not there: its error is news. */
	error = glob(pattern, GLOB_NOSORT | GLOB_NOMAGIC, NULL, &matches);
	for (size_t i = 0; !error && i < matches.gl_pathc && i < MAX_PATHS && go_on; i++) {
		struct files_piece piece = {.path = matches.gl_pathv[i]};
		size_t length = 0, at = 0;

		if (strlen(piece.path) > LONGEST_PATH)
			continue;
		piece.error = read_path(method, piece.path, offset, data, limit, &length);
		if (piece.error)
			length = 0;
		if (length > limit) {
			piece.truncated = true;
			length = limit;
		}
		do {
			piece.data = data + at;
			piece.length = length - at < piece_size ? length - at : piece_size;
			at += piece.length;
			piece.more = at < length;
			go_on = send(context, &piece);
		} while (go_on && piece.more);
	}
	if (error != GLOB_NOMATCH || matches.gl_pathc)
		globfree(&matches);
	free(data);
	return error == GLOB_NOSPACE ? ENOMEM : 0;
}
