// SPDX-License-Identifier: MIT
#include "detach.h"

#include <stdio.h>
#include <string.h>

#include "recorder/engine.h"
#include "small_file.h"

int event_enable(int instance, const char *name, bool enabled)
{
	const char *event = strchr(name, ':') + 1;
	char path[128];

	snprintf(path, sizeof(path), "events/%.*s/%s/enable", (int)(event - name - 1), name, event);
	return small_file_write(instance, path, enabled ? "1" : "0");
}

int detach_events(const struct recorder *recorder, int instance, bool detached)
{
	int first = 0;

	/* Sources have their beginnings before their ends: no end is missed of what has begun. */
	for (size_t i = 0; i < recorder->source_count; i++) {
		size_t at = detached ? i : recorder->source_count - 1 - i;
		const struct recorder_source *source = &recorder->sources[at];
		int error = source->attached ? event_enable(instance, source->name, !detached) : 0;

		if (error && !first)
			first = error;
	}
	return first;
}
