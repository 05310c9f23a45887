/* SPDX-License-Identifier: MIT */
/* Call paths at the ends of executions, or of samples: those with the same callers are a group. */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_PATH_GROUPS_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_PATH_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "section/bpf/layout.h"
#include "section/user_files.h"

#define PATH_SLOTS (2 * WIRE_MOST_PATH_GROUPS)

struct sender;
struct path_group;

struct path_groups {
	struct path_group *groups; /* the first: all for which there was no group */
	uint32_t count;
	bool is_user; /* callers are of user code */
	struct user_files files;
	uint16_t slots[PATH_SLOTS]; /* open addressing; 0: empty */
};

/* path_groups_open - make room for the groups; is_user: of user code. false: no memory */
bool path_groups_open(struct path_groups *groups, bool is_user);

void path_groups_add(struct path_groups *groups, const struct section_path *path);

/* path_groups_send - send all groups, with names of callers as far as they are known. is_sampled:
 * executions were seen there; above_ns: what took more was longer; lost: longer executions without
 * a path. */
void path_groups_send(const struct path_groups *groups, bool is_sampled, uint64_t above_ns,
		      uint64_t lost, struct sender *sender);

void path_groups_close(struct path_groups *groups);

#endif
