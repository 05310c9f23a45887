// SPDX-License-Identifier: MIT
/* Tracepoints: the events of tracefs, of which the kernel's BTF has the arguments. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "glob.h"
#include "kinds.h"
#include "tracefs/mount.h"

#define NAME_ROOM 512
/* Of the type that each tracepoint has, and of the function that calls what is attached to it: that
 * has the names of its arguments (Linux 5.10). */
#define TYPE_PREFIX	"btf_trace_"
#define FUNCTION_PREFIX "__traceiter_"

/* Systems of events that have no tracepoint of their name. */
static const char *const made[] = {"ftrace", "kprobes", "synthetic", "syscalls", "uprobes"};

static DIR *open_directory(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory && fd >= 0)
		close(fd);
	return directory;
}

/* list_system - keep the events of a system that match; returns 0 or an errno */
static int list_system(struct listed_names *names, int events, const char *system,
		       const char *pattern)
{
	DIR *directory = open_directory(events, system);
	const struct dirent *entry;
	int error = 0;

	while (directory && !error && (entry = readdir(directory)) != NULL) {
		char name[NAME_ROOM], id[NAME_ROOM];
		int length = snprintf(name, sizeof(name), "%s:%s", system, entry->d_name);

		if (entry->d_name[0] == '.' || length >= (int)sizeof(name) ||
		    !glob_matches(pattern, strchr(pattern, ':') ? name : entry->d_name))
			continue;
		snprintf(id, sizeof(id), "%s/id", entry->d_name);
		if (!faccessat(dirfd(directory), id, F_OK, 0))
			error = names_add(names, name, "", 0, 0);
	}
	if (directory)
		closedir(directory);
	return error;
}

/* compare_names - compare tracepoints without their systems */
static int compare_names(const void *first, const void *second)
{
	const struct listed_name *const *a = first, *const *b = second;

	return strcmp(strchr((*a)->name, ':') + 1, strchr((*b)->name, ':') + 1);
}

/* mark_type - set the type of a tracepoint by an entry of the BTF */
static void mark_type(struct listed_name **by_name, size_t count, const struct btf_entry *entry)
{
	const char *prefix = entry->kind == BTF_KIND_TYPEDEF ? TYPE_PREFIX
			     : entry->kind == BTF_KIND_FUNC  ? FUNCTION_PREFIX
							     : NULL;
	struct listed_name wanted, *at = &wanted, **match;
	char name[NAME_ROOM];

	if (!prefix || strncmp(entry->name, prefix, strlen(prefix)) != 0)
		return;
	snprintf(name, sizeof(name), ":%s", entry->name + strlen(prefix));
	wanted.name = name;
	match = bsearch(&at, by_name, count, sizeof(*by_name), compare_names);
	/* A function has the names as well, and comes in any order. */
	if (match && (!(*match)->type || entry->kind == BTF_KIND_FUNC))
		(*match)->type = entry->id;
}

static int mark_types(struct listing *listing)
{
	struct listed_names *names = &listing->names;
	struct listed_name **by_name = calloc(names->count + 1, sizeof(*by_name));
	struct btf_entry entry;

	if (!by_name)
		return ENOMEM;
	for (size_t i = 0; i < names->count; i++)
		by_name[i] = &names->at[i];
	qsort(by_name, names->count, sizeof(*by_name), compare_names);
	if (kernel_types_open(&listing->types)) {
		listing->lacks |= LACKS_TYPES;
	} else {
		entry = btf_text_first(&listing->types.text);
		while (btf_text_next(&listing->types.text, &entry))
			mark_type(by_name, names->count, &entry);
	}
	free(by_name);
	return 0;
}

/* is_made - whether an event is of those that have no tracepoint */
static bool is_made(const char *name)
{
	size_t length = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
		if (!strncmp(name, made[i], length) && !made[i][length])
			return true;
	return false;
}

int list_tracepoints(struct listing *listing, const char *pattern, char *text)
{
	struct listed_names *names = &listing->names;
	const struct dirent *entry;
	int root, error = mount_open(&root, text);
	DIR *systems;

	if (error)
		return error;
	systems = open_directory(root, "events");
	if (!systems)
		error = errno;
	while (systems && !error && (entry = readdir(systems)) != NULL)
		if (entry->d_name[0] != '.')
			error = list_system(names, dirfd(systems), entry->d_name, pattern);
	if (systems)
		closedir(systems);
	close(root);
	names_sort(names, true);
	if (!error)
		error = mark_types(listing);
	for (size_t i = 0; i < names->count; i++) {
		if (is_made(names->at[i].name) && !names->at[i].type)
			names->at[i].obstacle = OBSTACLE_NO_TRACEPOINT;
		else
			names->at[i].hooks = hook_bit(HOOK_TRACEPOINT) | hook_bit(HOOK_TRACE_EVENT);
	}
	return error ? fail(text, error, "the tracepoints cannot be read: %s", strerror(error)) : 0;
}
