// SPDX-License-Identifier: MIT
/*
 * Names of what is in events: numbered when they are first met, sent once.
 *
 * Names of threads come with their switches and are sent at once. Addresses are looked up when
 * the run is over, all in one pass over the kernel's symbols; interrupts likewise.
 */
#ifndef WHYLATE_RECORDER_NAMES_H
#define WHYLATE_RECORDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kallsyms.h"
#include "wire/constants.h"

/* Threads are numbered by their names, those of a watched program by their pids as well. */
/* Beyond that, ids are 0: without a name. */
#define NAMES_THREADS	 16384u
#define NAMES_ADDRESSES	 8192u
#define NAMES_INTERRUPTS 512u
/* Modules whose functions were named, of which it is reported. */
#define NAMES_MODULES 64u

/* Given each name once; called from within names_thread() and names_resolve(). */
typedef void (*names_sink)(void *context, enum name_table table, uint64_t id, const char *text);

struct names {
	names_sink sink;
	void *context;
	uint64_t (*threads)[2]; /* open addressing, twice as large as may be used */
	uint32_t *thread_ids;
	uint32_t thread_count;
	uint64_t *addresses;
	uint32_t *address_ids;
	uint32_t address_count;
	uint32_t interrupts[NAMES_INTERRUPTS];
	size_t interrupt_count;
};

bool names_open(struct names *names, names_sink sink, void *context);

/* names_thread - return the id of a thread's name, given as its 16 bytes in two numbers */
uint32_t names_thread(struct names *names, uint64_t low, uint64_t high);

/* names_address - return the id of an address in the kernel */
uint32_t names_address(struct names *names, uint64_t address);

/* names_interrupt - note that an interrupt needs its name */
void names_interrupt(struct names *names, uint32_t interrupt);

/* What became of the addresses. */
struct names_result {
	uint32_t addresses;
	uint32_t named;
	bool shown; /* false: the kernel hides where its symbols are */
	char modules[NAMES_MODULES][MODULE_NAME];
	size_t module_count;
};

/* names_resolve - send the names of all addresses and interrupts. What is at no symbol, as a lock
 * in the middle of memory, has none. */
void names_resolve(struct names *names, struct names_result *result);

void names_release(struct names *names);

#endif
