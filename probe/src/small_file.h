// SPDX-License-Identifier: MIT
/* Small text files of /proc, /sys and tracefs: read whole, written at once. */
#ifndef WHYLATE_SMALL_FILE_H
#define WHYLATE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Paths are relative to `directory`, as in openat(2); an absolute path ignores it. */

/* small_file_read - read a file's text, with a '\0' behind it; its end is cut off where it is
 * longer than the room. Returns 0 or an errno. */
int small_file_read(int directory, const char *path, char *text, size_t room);

/* small_file_line - read the first line without its end; false, and "", where there is none */
bool small_file_line(int directory, const char *path, char *text, size_t room);

/* small_file_number - read the number of the line that begins with key, such as "MemAvailable:", or
 * the number that the file begins with (key ""). Returns 0 where there is none. */
uint64_t small_file_number(int directory, const char *path, const char *key);

/* small_file_write - write a text; returns 0 or an errno */
int small_file_write(int directory, const char *path, const char *text);

#endif
