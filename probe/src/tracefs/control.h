/* SPDX-License-Identifier: MIT */
/* Whole small files of tracefs, read and written below a directory that is open. */
#ifndef WHYLATE_TRACEFS_CONTROL_H
#define WHYLATE_TRACEFS_CONTROL_H

#include <stddef.h>

/* control_write - write a small file; returns 0 or an errno */
int control_write(int directory, const char *path, const char *value);

/* control_read - read a file's text, with a '\0' behind it; its end is cut off where it is longer
 * than the room. Returns 0 or an errno. */
int control_read(int directory, const char *path, char *text, size_t room);

#endif
