// SPDX-License-Identifier: MIT
/* kprobes_sweep DIRECTORY - remove the kprobe events of instances that are gone, in a directory
 * that has what matters of tracefs: kprobe_events and instances */
#include <fcntl.h>

#include "tracefs/kprobes.h"

int main(int argc, char **argv)
{
	int root = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	int instances = root < 0 ? -1 : openat(root, "instances", O_RDONLY | O_DIRECTORY);

	if (instances < 0)
		return 2;
	kprobes_sweep(root, instances);
	return 0;
}
