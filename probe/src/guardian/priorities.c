// SPDX-License-Identifier: MIT
#include "priorities.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

/* raise_thread - give a thread a value; one that has ended needs none. Returns 0, or an errno with
 * the text. */
static int raise_thread(struct settings *settings, const char *name, const char *path,
			const char *value, char *text)
{
	char now[THREAD_ROOM];
	const char *reason;
	int error = thread_read(path, now);

	if (error)
		return error == ESRCH ? 0 : fail(text, error, "%s: %s", path, strerror(error));
	reason = threads_refuse(now, value);
	if (reason)
		return fail(text, EINVAL, "the priority of %.40s (%s) is not raised: %s", name,
			    path, reason);
	error = settings_apply(settings, path, value, text);
	return error == ESRCH ? 0 : error;
}

int priorities_apply(struct priorities *priorities, struct settings *settings, const char *name,
		     const char *priority, char *text)
{
	size_t before = settings->count;
	char value[THREAD_ROOM], reason[FAILURE_TEXT];
	struct threads threads;
	int error = threads_value(priority, value);

	if (error)
		return fail(text, error, "\"%.20s\" is no priority: 1 to 99", priority);
	if (priorities->count == PRIORITY_NAMES)
		return fail(text, E2BIG, "threads of more than %d names", PRIORITY_NAMES);
	error = threads_find(name, &threads);
	if (error)
		fail(text, error, "threads cannot be listed: %s", strerror(error));
	else if (!threads.count)
		error = fail(text, ESRCH, "no thread is named %.40s", name);
	for (size_t i = 0; i < threads.count && !error; i++)
		error = raise_thread(settings, name, threads.paths[i], value, text);
	threads_close(&threads);
	while (error && settings->count > before &&
	       !settings_undo_last(settings, settings->undo[settings->count - 1].path, reason))
		continue;
	if (!error) {
		struct priority *raised = &priorities->names[priorities->count++];

		snprintf(raised->name, sizeof(raised->name), "%s", name);
		snprintf(raised->value, sizeof(raised->value), "%s", value);
	}
	return error;
}

int priorities_check(struct priorities *priorities, char *text)
{
	size_t count = priorities->count;

	priorities->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct priority *raised = &priorities->names[i];
		size_t others = 0, all;
		struct threads threads;
		char now[THREAD_ROOM];

		if (threads_find(raised->name, &threads))
			continue;
		all = threads.count;
		for (size_t at = 0; at < all; at++)
			others += !thread_read(threads.paths[at], now) &&
				  strcmp(now, raised->value) != 0 &&
				  thread_lasts(threads.paths[at]);
		threads_close(&threads);
		if (others)
			return fail(text, EIO,
				    "%zu of %zu threads named %.40s do not have the priority that "
				    "they were given: they began later, or something else sets it",
				    others, all, raised->name);
	}
	return 0;
}
