// SPDX-License-Identifier: MIT
#include "tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "small_file.h"

/* Far above any default pid_max of a board; more are ignored. */
#define MOST_PROCESSES 65536
/* Processes that fork while they are being killed need several rounds, never this many. */
#define MOST_ROUNDS 100

bool tree_open(struct tree *tree)
{
	*tree = (struct tree){.proc = opendir("/proc")};
	if (!tree->proc)
		return false;
	if (faccessat(dirfd(tree->proc), "self/stat", R_OK, 0)) {
		tree_close(tree);
		return false;
	}
	return true;
}

/*
 * parse_stat - parse the fields of /proc/PID/stat
 *
 * The name of a process is in parentheses and may itself hold parentheses and spaces: the fields
 * are counted from the last parenthesis.
 */
static bool parse_stat(char *text, struct tree_process *process)
{
	unsigned long long own[2];
	long long waited_for[2];
	char state;
	int parent;
	const char *fields = strrchr(text, ')');

	if (!fields)
		return false;
	int fields_read =
	    sscanf(fields + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %lld %lld",
		   &state, &parent, &own[0], &own[1], &waited_for[0], &waited_for[1]);
	if (fields_read != 6)
		return false;
	process->parent = parent;
	process->is_zombie = state == 'Z' || state == 'X';
	process->ticks = own[0] + own[1] + (uint64_t)waited_for[0] + (uint64_t)waited_for[1];
	return true;
}

/* read_process - read one entry of /proc; false where the process is gone */
static bool read_process(int proc, const char *pid, struct tree_process *process)
{
	char path[32];
	char text[512];

	*process = (struct tree_process){.pid = (pid_t)atoi(pid)};
	if (snprintf(path, sizeof(path), "%s/stat", pid) >= (int)sizeof(path))
		return false;
	return !small_file_read(proc, path, text, sizeof(text)) && parse_stat(text, process);
}

/* make_room - for one more process; false when there is none */
static bool make_room(struct tree *tree)
{
	if (tree->count < tree->room)
		return true;
	size_t room = tree->room ? 2 * tree->room : 256;
	if (room > MOST_PROCESSES)
		return false;
	struct tree_process *list = realloc(tree->list, room * sizeof(*list));
	if (!list)
		return false;
	tree->list = list;
	tree->room = room;
	return true;
}

static int compare_pids(const void *first, const void *second)
{
	pid_t a = ((const struct tree_process *)first)->pid;
	pid_t b = ((const struct tree_process *)second)->pid;

	return (a > b) - (a < b);
}

/*
 * mark_below - mark the children of root, their children, and so on
 *
 * Process numbers wrap, so a parent may come after its child: repeat until nothing changes.
 */
static void mark_below(struct tree *tree, pid_t root)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct tree_process *process = &tree->list[i];
			if (process->is_below)
				continue;
			if (process->parent != root) {
				struct tree_process key = {.pid = process->parent};
				const struct tree_process *parent = bsearch(
				    &key, tree->list, tree->count, sizeof(key), compare_pids);
				if (!parent || !parent->is_below)
					continue;
			}
			process->is_below = true;
			changed = true;
		}
	}
}

void tree_read(struct tree *tree, pid_t root)
{
	const struct dirent *entry;

	tree->count = 0;
	rewinddir(tree->proc);
	while ((entry = readdir(tree->proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (!make_room(tree))
			break;
		if (read_process(dirfd(tree->proc), entry->d_name, &tree->list[tree->count]))
			tree->count++;
	}
	qsort(tree->list, tree->count, sizeof(*tree->list), compare_pids);
	mark_below(tree, root);
}

void tree_kill(struct tree *tree, pid_t root)
{
	for (int round = 0; round < MOST_ROUNDS; round++) {
		bool any = false;
		tree_read(tree, root);
		for (size_t i = 0; i < tree->count; i++) {
			const struct tree_process *process = &tree->list[i];
			if (!process->is_below || process->is_zombie)
				continue;
			kill(process->pid, SIGKILL);
			any = true;
		}
		if (!any)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	}
}

void tree_close(struct tree *tree)
{
	if (tree->proc)
		closedir(tree->proc);
	free(tree->list);
	*tree = (struct tree){0};
}
