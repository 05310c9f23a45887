// SPDX-License-Identifier: MIT
#include "kprobes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fields.h"
#include "small_file.h"

#define EVENTS "kprobe_events"
/* As many as others may have defined, too. */
#define LONGEST_EVENTS (1u << 20)
/* Of a group of ours: "whylate_123", or "whylate_123_1" of the instance whylate-123.1. */
#define GROUP_PREFIX "whylate_"

void kprobes_group(const char *instance, char *group)
{
	size_t i = 0;

	for (; instance[i] && i < KPROBES_GROUP - 1; i++)
		group[i] = (char)(instance[i] == '-' || instance[i] == '.' ? '_' : instance[i]);
	group[i] = '\0';
}

/* instance_of - the name of the instance of a group, INSTANCE_NAME bytes */
static void instance_of(const char *group, char *instance)
{
	char *second;

	snprintf(instance, INSTANCE_NAME, INSTANCE_PREFIX "%s", group + strlen(GROUP_PREFIX));
	second = strchr(instance, '_');
	if (second)
		*second = '.';
}

int kprobes_add(int root, const char *definition)
{
	return small_file_write(root, EVENTS, definition);
}

/* remove_event - remove one event, "group/name" */
static int remove_event(int root, const char *event)
{
	char command[2 * KPROBES_GROUP + 16];

	snprintf(command, sizeof(command), "-:%s", event);
	return small_file_write(root, EVENTS, command);
}

/* is_wanted - whether events of a group are to be removed: this one, or NULL: those of instances
 * that are gone */
static bool is_wanted(const char *name, const char *group, int instances)
{
	char instance[INSTANCE_NAME];

	if (group)
		return !strcmp(name, group);
	if (strncmp(name, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
		return false;
	instance_of(name, instance);
	return faccessat(instances, instance, F_OK, 0) < 0 && errno == ENOENT;
}

/* remove_events - remove the events that are wanted; returns 0, or the first errno */
static int remove_events(int root, const char *group, int instances)
{
	char *text = malloc(LONGEST_EVENTS), *rest = text, *line;
	char name[KPROBES_GROUP], event[2 * KPROBES_GROUP];
	int error = text ? small_file_read(root, EVENTS, text, LONGEST_EVENTS) : ENOMEM, first = 0;

	/* Without that file there are none. */
	if (error && error != ENOENT)
		first = error;
	/* "r64:whylate_123/whylate_123_return do_it" */
	while (!error && (line = trace_next_line(&rest)) != NULL) {
		if (sscanf(line, "%*[^:]:%79s", event) != 1 ||
		    sscanf(event, "%39[^/]", name) != 1 || !is_wanted(name, group, instances))
			continue;
		error = remove_event(root, event);
		if (error && !first)
			first = error;
		error = 0;
	}
	free(text);
	return first;
}

int kprobes_remove(int root, const char *group)
{
	return remove_events(root, group, -1);
}

void kprobes_sweep(int root, int instances)
{
	remove_events(root, NULL, instances);
}
