// SPDX-License-Identifier: MIT
/* build_id < NOTES - the build id in a section of ELF notes, in hexadecimal; an empty line: none */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/build_id.h"

int main(void)
{
	static uint8_t notes[65536];
	size_t size = fread(notes, 1, sizeof(notes), stdin);
	/* To the byte, so that a sanitizer sees what reads beyond it. */
	uint8_t *exact = malloc(size ? size : 1);
	uint8_t id[BUILD_ID_MOST];
	size_t length;

	if (!exact)
		return 1;
	memcpy(exact, notes, size);
	length = build_id_of_notes(exact, size, id);
	for (size_t i = 0; i < length; i++)
		printf("%02x", id[i]);
	printf("\n");
	free(exact);
	return 0;
}
