// SPDX-License-Identifier: MIT
/* The evidence of samples on given code: lines "x86 HEX", "arm64 HEX", "arm HEX", "riscv64 HEX" or
 * "length HEX" are answered by 0 or 1, or by a length. */
#include <stdio.h>
#include <string.h>

#include "sampled/bpf/layout.h"
#include "sampled/evidence.h"

int main(void)
{
	static char what[16], hex[2 * EVIDENCE_MOST + 1];
	static uint8_t code[EVIDENCE_MOST];

	while (scanf("%15s %32768s", what, hex) == 2) {
		size_t length = strlen(hex) / 2;

		for (size_t i = 0; i < length; i++)
			sscanf(hex + 2 * i, "%2hhx", &code[i]);
		if (!strcmp(what, "length"))
			printf("%zu\n", evidence_x86_length(code, length));
		else
			printf("%d\n", evidence_in_code(!strcmp(what, "arm64")	   ? SAMPLED_ARM64
							: !strcmp(what, "arm")	   ? SAMPLED_ARM
							: !strcmp(what, "riscv64") ? SAMPLED_RISCV
										   : SAMPLED_X86,
							code, length));
	}
	return 0;
}
