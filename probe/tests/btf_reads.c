// SPDX-License-Identifier: MIT
/*
 * btf_reads - how often this kernel's BTF is opened for names that are looked up after each other
 *
 * Prints, for each name, its id and how often the BTF was opened so far: two names as they come,
 * two while it is kept, and one after that. Link it with --wrap=open64.
 */
#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>

#include "bpf/btf_text.h"
#include "bpf/kernel_btf.h"

static unsigned opened;

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open64(const char *path, int flags, ...)
{
	opened += !strcmp(path, "/sys/kernel/btf/vmlinux");
	return __real_open64(path, flags);
}

static void look_up(const char *name)
{
	struct kernel_name wanted = {"", name, BTF_KIND_STRUCT, 0, 0, NULL};
	int error = kernel_btf_find(&wanted, 1);

	printf("%d %u %u\n", error, wanted.id, opened);
}

int main(void)
{
	look_up("task_struct");
	look_up("file");
	btf_text_keep();
	look_up("task_struct");
	look_up("file");
	btf_text_forget();
	look_up("file");
	return 0;
}
