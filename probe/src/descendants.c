// SPDX-License-Identifier: MIT
#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 65536

struct process {
	pid_t pid;
	pid_t parent;
	bool ours;
};

/* read_parent - the parent of a process, or -1 */
static pid_t read_parent(const char *pid)
{
	char path[64], text[512];
	const char *after_name;
	ssize_t got;
	int fd, parent = -1;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	/* The name in brackets may hold brackets itself: the last one counts. */
	after_name = strrchr(text, ')');
	if (!after_name || sscanf(after_name + 1, " %*c %d", &parent) != 1)
		return -1;
	return parent;
}

static size_t list_processes(struct process *list, size_t room)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	if (!proc)
		return 0;
	while (count < room && (entry = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		list[count].pid = (pid_t)atol(entry->d_name);
		list[count].parent = read_parent(entry->d_name);
		list[count].ours = false;
		count++;
	}
	closedir(proc);
	return count;
}

/* is_below - whether a process is marked as ours, or is ourselves */
static bool is_below(const struct process *list, size_t count, pid_t pid, pid_t self)
{
	if (pid == self)
		return true;
	for (size_t i = 0; i < count; i++)
		if (list[i].pid == pid)
			return list[i].ours;
	return false;
}

/* kill_once - signal every descendant that exists now; returns how many */
static size_t kill_once(struct process *list)
{
	size_t count = list_processes(list, MAX_PROCESSES), killed = 0;
	pid_t self = getpid();
	bool grew = true;

	while (grew) {
		grew = false;
		for (size_t i = 0; i < count; i++) {
			if (list[i].ours || !is_below(list, count, list[i].parent, self))
				continue;
			list[i].ours = true;
			grew = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].ours && kill(list[i].pid, SIGKILL) == 0)
			killed++;
	return killed;
}

void descendants_kill(void)
{
	struct process *list = malloc(MAX_PROCESSES * sizeof(*list));
	const struct timespec pause = {.tv_nsec = 5000000};

	/* A process may fork between the look and the kill: go on until there is none left. */
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			break;
		if (list)
			kill_once(list);
		nanosleep(&pause, NULL);
	}
	free(list);
}
