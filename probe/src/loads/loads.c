// SPDX-License-Identifier: MIT
/* The table of loads, and how a load reports why it stopped. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kinds.h"

#define KIND(name, unit, doc) {#name, unit, doc, load_##name},

const struct load_kind load_kinds[] = {WIRE_LOADS(KIND){NULL, NULL, NULL, NULL}};

const struct load_kind *load_find(const char *name)
{
	for (const struct load_kind *kind = load_kinds; kind->name; kind++) {
		if (!strcmp(kind->name, name))
			return kind;
	}
	return NULL;
}

/*
 * stop - write the message, then the state that makes others read it
 *
 * Several threads of one load may fail at once: only the first one reports, because a published
 * message must not change under its reader. Names of commands and directories come from outside, so
 * control characters are replaced.
 */
__attribute__((format(printf, 3, 0))) static void
stop(struct load_context *context, enum load_state state, const char *format, va_list arguments)
{
	static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;
	struct load_slot *slot = context->slot;

	pthread_mutex_lock(&stopping);
	int32_t now = atomic_load_explicit(&slot->state, memory_order_relaxed);
	if (now != LOAD_FAILED && now != LOAD_ENDED) {
		vsnprintf(slot->message, sizeof(slot->message), format, arguments);
		for (char *c = slot->message; *c; c++) {
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				*c = '?';
		}
		atomic_store_explicit(&slot->state, (int32_t)state, memory_order_release);
	}
	pthread_mutex_unlock(&stopping);
}

void load_fail(struct load_context *context, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	stop(context, LOAD_FAILED, format, arguments);
	va_end(arguments);
}

void load_end(struct load_context *context, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	stop(context, LOAD_ENDED, format, arguments);
	va_end(arguments);
}
