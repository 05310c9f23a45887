// SPDX-License-Identifier: MIT
/*
 * Names of what is in events: numbered when they first occur, sent once.
 *
 * Names of threads come with their switches and are sent at once. The names of addresses and
 * interrupts are read when the run is over, those of addresses in one pass over the symbols.
 */
#ifndef WHYLATE_RECORDER_NAMES_H
#define WHYLATE_RECORDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kallsyms.h"
#include "wire/constants.h"

/* What exceeds these numbers has the id 0, without a name. */
#define NAMES_THREADS	 16384u
#define NAMES_ADDRESSES	 8192u
#define NAMES_TASKS	 4096u
#define NAMES_INTERRUPTS 512u
/* Modules with named functions that are reported. */
#define NAMES_MODULES 64u

/* Given each name once; called from within names_thread() and names_resolve(). */
typedef void (*names_sink)(void *context, enum name_table table, uint64_t id, const char *text);

struct names {
	names_sink sink;
	void *context;
	struct id_table {
		struct id_entry *entries; /* open addressing, twice as many as may be used */
		uint32_t most, count;
	} threads, addresses, tasks;
	uint32_t interrupts[NAMES_INTERRUPTS];
	size_t interrupt_count;
};

bool names_open(struct names *names, names_sink sink, void *context);

/* names_thread - return the id of a thread's name, given as its 16 bytes in two numbers */
uint32_t names_thread(struct names *names, uint64_t low, uint64_t high);

/* names_task - send which thread of which process it is that has this name, where it is still there
 */
void names_task(struct names *names, uint32_t pid, uint32_t thread);

/* names_address - return the id of an address in the kernel; data: of an object, as of a lock */
uint32_t names_address(struct names *names, uint64_t address, bool data);

/* names_interrupt - note that an interrupt needs its name */
void names_interrupt(struct names *names, uint32_t interrupt);

/* names_of_interrupt - read the names of an interrupt's handlers, with commas between them; returns
 * whether it has any */
bool names_of_interrupt(uint32_t interrupt, char *text, size_t size);

/* How many of the addresses have names. */
struct names_result {
	uint32_t addresses;
	uint32_t named;
	bool shown; /* false: the kernel hides where its symbols are */
	char modules[NAMES_MODULES][MODULE_NAME];
	size_t module_count;
};

/* names_resolve - send the names of all addresses and interrupts; an address outside of all
 * symbols, as that of a lock in allocated memory, has none */
void names_resolve(struct names *names, struct names_result *result);

void names_release(struct names *names);

#endif
