// SPDX-License-Identifier: MIT
#include "thread_names.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "small_file.h"
#include "wire/send.h"

void thread_names_send(struct thread_names *names, struct sender *sender, uint32_t pid)
{
	uint32_t slot = pid * 0x9E3779B1u % (2 * NAMED_THREADS);
	char path[64], text[64];

	while (names->named[slot] && names->named[slot] != pid)
		slot = (slot + 1) % (2 * NAMED_THREADS);
	/* The idle threads have no number. */
	if (!pid || names->named[slot] || names->count == NAMED_THREADS)
		return;
	names->named[slot] = pid;
	names->count++;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	if (small_file_line(AT_FDCWD, path, text, sizeof(text)))
		KEEP(sender, name, NAME, .table = NAMES_PID, .id = pid, .text = wire_text(text));
}
