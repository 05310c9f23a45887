// SPDX-License-Identifier: MIT
/* The processes below one process, found by their parents in /proc. */
#ifndef WHYLATE_LOAD_TREE_H
#define WHYLATE_LOAD_TREE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_process {
	pid_t pid;
	pid_t parent;
	/*
	 * User and system time of it and of the children it waited for, in clock ticks. Children
	 * that were waited for are no longer listed: a sum over processes counts nothing twice.
	 */
	uint64_t ticks;
	bool is_zombie;
	bool is_below;
};

struct tree {
	DIR *proc;
	struct tree_process *list; /* in order of pid */
	size_t count;
	size_t room;
};

/* tree_open - false where /proc is not mounted; release with tree_close() */
bool tree_open(struct tree *tree);

/* tree_read - list all processes afresh and mark those below root; root itself is not marked */
void tree_read(struct tree *tree, pid_t root);

/* tree_kill - SIGKILL all below root until only zombies are left; they are not waited for */
void tree_kill(struct tree *tree, pid_t root);

void tree_close(struct tree *tree);

#endif
