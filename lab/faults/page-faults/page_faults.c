// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the pages of a program's file out of every process that runs it. Locked memory does not
 * help: the program faults when it next runs there. Logged is the taking away; the faults follow
 * in whoever runs the program, one or a few each time, and last as long as they last.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/namei.h>

#include "fault_module.h"

static char *file = "/whylate/probe";
module_param(file, charp, 0444);

static struct path target;

static void act(void)
{
	u64 start_ns = ktime_get_ns();

	/* Not the private copies: they hold what the program wrote. */
	unmap_mapping_range(target.dentry->d_inode->i_mapping, 0, 0, 0);
	fault_log(start_ns, ktime_get_ns(), cpu);
}

static int begin(void)
{
	int error = kern_path(file, LOOKUP_FOLLOW, &target);

	if (error)
		pr_err(KBUILD_MODNAME ": there is no file %s\n", file);
	return error;
}

static void end(void)
{
	path_put(&target);
}

FAULT_THREAD(act, begin, end);
