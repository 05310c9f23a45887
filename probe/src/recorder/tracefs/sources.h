/* SPDX-License-Identifier: MIT */
/* The trace events that are recorded, and where each of their fields goes. */
#ifndef WHYLATE_RECORDER_TRACEFS_SOURCES_H
#define WHYLATE_RECORDER_TRACEFS_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_FIELDS 8

/* What a field of a trace event becomes. */
enum target {
	TARGET_NONE,
	TARGET_A, /* a member of struct recorder_event, as it is */
	TARGET_B,
	TARGET_C,
	TARGET_D,
	TARGET_E,
	TARGET_F,
	TARGET_E_OR,	  /* e, where the field before it was 0 */
	TARGET_STATE,	  /* the state in which prev left */
	TARGET_PRIO_PREV, /* one of two priorities in b */
	TARGET_PRIO_NEXT,
	TARGET_COMM,   /* 16 bytes in e and f */
	TARGET_IDLE,   /* state of idling; all ones: its end */
	TARGET_REASON, /* address of the text that names the interprocessor interrupt */
	TARGET_MASK,   /* CPUs: one event for each */
	TARGET_PID,    /* of the thread that was running, in c */
};

struct source_field {
	const char *name;
	enum target target;
};

/* Which architectures may have it: the others do not miss it. */
enum source_where { SOURCE_ANYWHERE, SOURCE_ON_X86, SOURCE_NOT_ON_X86 };

struct source {
	const char *name;   /* system:event */
	uint8_t kind;	    /* enum recorder_kind */
	uint8_t vector;	    /* enum recorder_vector, for entry and exit of vectors */
	bool only_measured; /* filtered in the kernel by the pids of the measured threads */
	bool only_watching; /* wanted where a program is watched */
	uint8_t where;	    /* enum source_where */
	struct source_field fields[SOURCE_FIELDS];
};

/* The first is the one that there must be. */
extern const struct source sources[];
extern const size_t source_count;

/* source_is_for_us - whether the architecture that we are built for may have it */
bool source_is_for_us(const struct source *source);

#endif
