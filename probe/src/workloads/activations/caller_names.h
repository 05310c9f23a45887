/* SPDX-License-Identifier: MIT */
/* Names of addresses of the kernel, or of places in user code, resolved together: symbols are read
 * once. */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_CALLER_NAMES_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_CALLER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/messages.h"

struct symbol;
struct user_files;

struct caller_names {
	struct symbol *symbols;
	size_t count;
	size_t room;
};

/* caller_names_open - make room for so many addresses; false: no memory */
bool caller_names_open(struct caller_names *names, size_t room);

/* caller_names_add_lock, caller_names_add_all - name a lock, and functions up to the first 0, as
 * well
 */
void caller_names_add_lock(struct caller_names *names, uint64_t lock);
void caller_names_add_all(struct caller_names *names, const uint64_t *callers, size_t most);

/* caller_names_resolve - find the names of all that were added */
void caller_names_resolve(struct caller_names *names);

/* caller_names_resolve_user - the same of places in user code: section/user_files.h */
void caller_names_resolve_user(struct caller_names *names, const struct user_files *files);

/* caller_name - return the name of an address; empty where it is not known */
const char *caller_name(const struct caller_names *names, uint64_t address);

/* caller_start - return where the function of an address begins; 0 where that is not known */
uint64_t caller_start(const struct caller_names *names, uint64_t address);

/* caller_names_list - the names of callers up to the first 0, as many as there is room for */
struct wire_list caller_names_list(const struct caller_names *names, const uint64_t *callers,
				   size_t most, uint8_t *room, size_t size);

void caller_names_close(struct caller_names *names);

#endif
