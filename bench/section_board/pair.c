// SPDX-License-Identifier: MIT
/*
 * pair HOOK PROGRAM FUNCTION - attach two small BPF programs to a function, until SIGINT
 *
 * HOOK: fentry (with fexit) or kprobe (with kretprobe). What they add to a call is what the kernel
 * takes to get to programs and back, and, with the other PROGRAMs, for what any tool must do:
 *
 *	empty	return
 *	clock	read the clock
 *	hash	the beginning keeps the clock in a hash map by thread, the end looks it up, takes
 * the difference and counts it in a map: the least that tells durations of several threads
 *
 * At its end it prints how often either ran while the kernel counted that
 * (/proc/sys/kernel/bpf_stats_enabled).
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define CALL(helper)		  INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define MOVE(to, from)		  INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, number)		  INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number)
#define ADD(to, number)		  INSN(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number)
#define STORE(size, offset, from) INSN(BPF_STX | (size) | BPF_MEM, 10, from, offset, 0)
#define MAP(to, fd)                                                                                \
	INSN(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static void die(const char *what)
{
	fprintf(stderr, "pair: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* function_id - the number of a function in the kernel's BTF */
static uint32_t function_id(const char *name)
{
	static uint8_t data[16 << 20];
	FILE *file = fopen("/sys/kernel/btf/vmlinux", "rb");
	size_t size = file ? fread(data, 1, sizeof(data), file) : 0;
	const struct btf_header *header = (void *)data;
	const uint8_t *at = data + sizeof(*header) + header->type_off;
	const uint8_t *end = at + header->type_len;
	const char *strings = (char *)data + sizeof(*header) + header->str_off;
	static const uint8_t more[] = {
	    [BTF_KIND_INT] = 4, [BTF_KIND_ARRAY] = 12, [BTF_KIND_VAR] = 4, [BTF_KIND_DECL_TAG] = 4};
	static const uint8_t each[] = {[BTF_KIND_STRUCT] = 12,	[BTF_KIND_UNION] = 12,
				       [BTF_KIND_ENUM] = 8,	[BTF_KIND_FUNC_PROTO] = 8,
				       [BTF_KIND_DATASEC] = 12, [BTF_KIND_ENUM64] = 12};

	if (!size)
		die("/sys/kernel/btf/vmlinux");
	for (uint32_t id = 1; at < end; id++) {
		const struct btf_type *type = (void *)at;
		uint32_t kind = BTF_INFO_KIND(type->info);

		if (kind == BTF_KIND_FUNC && !strcmp(strings + type->name_off, name))
			return id;
		at += sizeof(*type);
		at += kind < sizeof(more) ? more[kind] : 0;
		at += kind < sizeof(each) ? (size_t)each[kind] * BTF_INFO_VLEN(type->info) : 0;
	}
	errno = ENOENT;
	die(name);
	return 0;
}

static int create_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries)
{
	union bpf_attr attr = {
	    .map_type = type, .key_size = key, .value_size = value, .max_entries = entries};
	int map = bpf(BPF_MAP_CREATE, &attr);

	if (map < 0)
		die("map");
	return map;
}

struct program {
	const struct bpf_insn *insns;
	size_t count;
};

static int load(const struct program *program, uint32_t type, uint32_t attach, uint32_t id)
{
	static char log[1 << 16];
	union bpf_attr attr = {.prog_type = type,
			       .insns = (uintptr_t)program->insns,
			       .insn_cnt = (uint32_t)program->count,
			       .license = (uintptr_t)"GPL",
			       .log_buf = (uintptr_t)log,
			       .log_size = sizeof(log),
			       .log_level = 1,
			       .expected_attach_type = attach,
			       .attach_btf_id = id};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0) {
		fprintf(stderr, "%s\n", log);
		die("program");
	}
	return fd;
}

static void attach_fentry(int program)
{
	union bpf_attr attr = {.raw_tracepoint.prog_fd = (uint32_t)program};

	if (bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0)
		die("attach");
}

static void attach_kprobe(int program, const char *function, int is_return)
{
	struct perf_event_attr attr = {
	    .size = sizeof(attr), .config = (uint64_t)is_return, .config1 = (uintptr_t)function};
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	int event;

	if (!file || fscanf(file, "%u", &attr.type) != 1)
		die("kprobe/type");
	event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		die("kprobe");
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) || ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		die("kprobe");
}

static unsigned long long runs(int program)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {.info.bpf_fd = (uint32_t)program,
			       .info.info_len = sizeof(info),
			       .info.info = (uintptr_t)&info};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die("info");
	return info.run_cnt;
}

int main(int argc, char **argv)
{
	int is_fentry = argc > 1 && !strcmp(argv[1], "fentry");
	int starts = create_map(BPF_MAP_TYPE_HASH, 4, 8, 8192);
	int sums = create_map(BPF_MAP_TYPE_ARRAY, 4, 8, 64);
	const struct bpf_insn empty[] = {SET(0, 0), EXIT};
	const struct bpf_insn clock[] = {CALL(BPF_FUNC_ktime_get_ns), SET(0, 0), EXIT};
	const struct bpf_insn begin[] = {CALL(BPF_FUNC_get_current_pid_tgid),
					 STORE(BPF_W, -4, 0),
					 CALL(BPF_FUNC_ktime_get_ns),
					 STORE(BPF_DW, -16, 0),
					 MAP(1, starts),
					 MOVE(2, 10),
					 ADD(2, -4),
					 MOVE(3, 10),
					 ADD(3, -16),
					 SET(4, BPF_ANY),
					 CALL(BPF_FUNC_map_update_elem),
					 SET(0, 0),
					 EXIT};
	const struct bpf_insn end[] = {CALL(BPF_FUNC_ktime_get_ns),
				       MOVE(6, 0),
				       CALL(BPF_FUNC_get_current_pid_tgid),
				       STORE(BPF_W, -4, 0),
				       MAP(1, starts),
				       MOVE(2, 10),
				       ADD(2, -4),
				       CALL(BPF_FUNC_map_lookup_elem),
				       INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11, 0),
				       INSN(BPF_LDX | BPF_DW | BPF_MEM, 1, 0, 0, 0),
				       INSN(BPF_ALU64 | BPF_SUB | BPF_X, 6, 1, 0, 0),
				       SET(1, 0),
				       STORE(BPF_W, -8, 1),
				       MAP(1, sums),
				       MOVE(2, 10),
				       ADD(2, -8),
				       CALL(BPF_FUNC_map_lookup_elem),
				       INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
				       INSN(BPF_STX | BPF_DW | BPF_ATOMIC, 0, 6, 0, BPF_ADD),
				       SET(0, 0),
				       EXIT};
	struct program pair[2] = {{empty, LENGTH(empty)}, {empty, LENGTH(empty)}};
	uint32_t type = is_fentry ? BPF_PROG_TYPE_TRACING : BPF_PROG_TYPE_KPROBE;
	uint32_t id;
	int fds[2], signal_number;
	sigset_t set;

	if (argc != 4)
		return 2;
	if (!strcmp(argv[2], "clock"))
		pair[0] = pair[1] = (struct program){clock, LENGTH(clock)};
	if (!strcmp(argv[2], "hash")) {
		pair[0] = (struct program){begin, LENGTH(begin)};
		pair[1] = (struct program){end, LENGTH(end)};
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	id = is_fentry ? function_id(argv[3]) : 0;
	/* The end first: no execution begins that is not seen to end. */
	for (int i = 1; i >= 0; i--) {
		fds[i] = load(&pair[i], type,
			      is_fentry ? (i ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY) : 0, id);
		if (is_fentry)
			attach_fentry(fds[i]);
		else
			attach_kprobe(fds[i], argv[3], i);
	}
	printf("attached\n");
	fflush(stdout);
	sigwait(&set, &signal_number);
	printf("runs %llu %llu\n", runs(fds[0]), runs(fds[1]));
	return 0;
}
