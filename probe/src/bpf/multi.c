// SPDX-License-Identifier: MIT
#include "multi.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_btf.h"
#include "program.h"

/* Of linux/bpf.h since 5.7 and 5.18. */
#define LINK_CREATE 28 /* BPF_LINK_CREATE */
#define LINK_MULTI  8u /* BPF_LINK_TYPE_KPROBE_MULTI */
#define AT_RETURN   1u /* BPF_F_KPROBE_MULTI_RETURN */

/* The beginning of union bpf_attr for LINK_CREATE: the headers of a build machine may be older. */
struct link_arguments {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint32_t multi_flags;
	uint32_t count;
	uint64_t names;
	uint64_t addresses;
	uint64_t cookies;
};

_Static_assert(sizeof(struct link_arguments) == 48, "it is the kernel's");

/* struct bpf_link_info, of a link of LINK_MULTI. */
struct link_info {
	uint32_t type;
	uint32_t id;
	uint32_t prog_id;
	uint32_t unused;
	uint64_t addresses;
	uint32_t count;
	uint32_t flags;
	uint64_t missed; /* since 6.7 */
};

_Static_assert(sizeof(struct link_info) == 40, "it is the kernel's");

int bpf_multi_find(struct bpf_multi *multi)
{
	struct kernel_name names[] = {
	    {"", "bpf_kprobe_multi_link", BTF_KIND_STRUCT, 0, 0, NULL},
	    {"", "fprobe_rethook_node", BTF_KIND_STRUCT, 0, 0, NULL},
	    {"", "fprobe_hlist", BTF_KIND_STRUCT, 0, 0, NULL},
	    {"", "bpf_session_cookie", BTF_KIND_FUNC, 0, 0, NULL},
	    {"", "bpf_session_is_return", BTF_KIND_FUNC, 0, 0, NULL},
	};
	int error = kernel_btf_find(names, sizeof(names) / sizeof(names[0]));

	/* The first is there without fprobes as well; of the others one is theirs, by the version.
	 */
	*multi = (struct bpf_multi){
	    .is_there = names[0].id && (names[1].id || names[2].id),
	    .has_pool = names[1].id != 0,
	    .cookie = names[3].id,
	    .is_return = names[4].id,
	};
	return error;
}

/* create - create a link; returns its descriptor, or -1 with errno */
static int create(const struct bpf_multi_place *place, int program, const uint64_t *addresses,
		  uint32_t count)
{
	uint64_t name = (uintptr_t)place->name;
	struct link_arguments arguments = {
	    .prog_fd = (uint32_t)program,
	    .attach_type = place->attach_type,
	    .multi_flags = place->at_return ? AT_RETURN : 0,
	    .count = count,
	    .names = addresses ? 0 : (uintptr_t)&name,
	    .addresses = (uintptr_t)addresses,
	};

	return (int)bpf_call(LINK_CREATE, &arguments, sizeof(arguments));
}

int bpf_multi_attach(const struct bpf_multi_place *place, int program)
{
	uint64_t *addresses;
	int link, error;

	if (!place->address)
		return create(place, program, NULL, 1);
	addresses = calloc(place->times, sizeof(*addresses));
	if (!addresses) {
		errno = ENOMEM;
		return -1;
	}
	for (uint32_t i = 0; i < place->times; i++)
		addresses[i] = place->address;
	link = create(place, program, addresses, place->times);
	error = errno;
	free(addresses);
	errno = error;
	return link;
}

uint64_t bpf_link_missed(int link)
{
	struct link_info info;
	union bpf_attr arguments;

	memset(&info, 0, sizeof(info));
	memset(&arguments, 0, sizeof(arguments));
	arguments.info.bpf_fd = (uint32_t)link;
	arguments.info.info_len = sizeof(info);
	arguments.info.info = (uintptr_t)&info;
	/* Descriptors of perf events have none. */
	if (link < 0 || bpf_call(BPF_OBJ_GET_INFO_BY_FD, &arguments, sizeof(arguments)))
		return 0;
	return info.type == LINK_MULTI ? info.missed : 0;
}
