// SPDX-License-Identifier: MIT
#include "put.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "wire/xxh64.h"

#define TEMPORARY ".whylate-put"

static int fail_file(const struct put *put, int error, const char *what, char *text)
{
	return fail(text, error, "%s: %s: %s", put->path, what, strerror(error));
}

static int open_file(struct put *put, const struct wire_put *piece, char *text)
{
	put_abort(put);
	if (!wire_copy_text(piece->path, put->path, sizeof(put->path)) || put->path[0] != '/' ||
	    piece->size > WIRE_LARGEST_PUT)
		return fail(text, EINVAL,
			    "a file must have an absolute path of %d bytes and 1 GiB at most",
			    (int)WIRE_LONGEST_PATH);
	snprintf(put->temporary, sizeof(put->temporary), "%s" TEMPORARY, put->path);
	unlink(put->temporary);
	put->fd = open(put->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (put->fd < 0)
		return fail_file(put, errno, "cannot create a file beside it", text);
	put->is_open = true;
	put->size = piece->size;
	put->written = 0;
	return 0;
}

/* follows - whether the piece is the next one of the file that is being written */
static bool follows(const struct put *put, const struct wire_put *piece)
{
	char path[PUT_PATH];

	return put->is_open && wire_copy_text(piece->path, path, sizeof(path)) &&
	       !strcmp(path, put->path) && piece->size == put->size &&
	       piece->offset == put->written;
}

static int write_piece(struct put *put, struct wire_bytes data)
{
	for (size_t at = 0; at < data.length;) {
		ssize_t wrote = write(put->fd, data.data + at, data.length - at);

		if (wrote < 0 && errno != EINTR)
			return errno;
		if (wrote > 0)
			at += (size_t)wrote;
	}
	put->written += data.length;
	return 0;
}

/* is_intact - whether the file has that checksum */
static bool is_intact(const struct put *put, uint64_t checksum)
{
	size_t size = (size_t)put->written;
	uint8_t *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, put->fd, 0) : NULL;
	bool intact = data != MAP_FAILED && xxh64(data, size) == checksum;

	if (size && data != MAP_FAILED)
		munmap(data, size);
	return intact;
}

static int finish(struct put *put, const struct wire_put *piece, char *text)
{
	if (!is_intact(put, piece->checksum))
		return fail_file(put, EBADMSG, "the checksum does not match what arrived", text);
	if (fchmod(put->fd, piece->mode & 07777) || fsync(put->fd) ||
	    rename(put->temporary, put->path))
		return fail_file(put, errno, "cannot replace it", text);
	close(put->fd);
	put->is_open = false;
	return 0;
}

int put_piece(struct put *put, const struct wire_put *piece, char *text)
{
	int error = piece->offset ? 0 : open_file(put, piece, text);

	if (error)
		return error;
	if (!follows(put, piece) || piece->data.length > piece->size - put->written)
		error = fail(text, EINVAL, "a piece of a file is out of order, or too long");
	else if ((error = write_piece(put, piece->data)) != 0)
		fail_file(put, error, "cannot write beside it", text);
	else if (put->written == piece->size)
		error = finish(put, piece, text);
	if (error)
		put_abort(put);
	return error;
}

void put_abort(struct put *put)
{
	if (!put->is_open)
		return;
	close(put->fd);
	unlink(put->temporary);
	put->is_open = false;
}
