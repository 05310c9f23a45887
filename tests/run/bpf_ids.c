// SPDX-License-Identifier: MIT
/* bpf_ids - print the ids of all programs, maps and links that the kernel has */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void print_ids(int command, const char *what)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	while (!syscall(SYS_bpf, command, &attributes, sizeof(attributes))) {
		printf("%s %u\n", what, attributes.next_id);
		attributes.start_id = attributes.next_id;
	}
}

int main(void)
{
	print_ids(BPF_PROG_GET_NEXT_ID, "program");
	print_ids(BPF_MAP_GET_NEXT_ID, "map");
	print_ids(BPF_LINK_GET_NEXT_ID, "link");
	return 0;
}
