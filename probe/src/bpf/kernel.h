/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the programs use of the kernel: the few fields they read, the helpers they call.
 *
 * Only names count here. Where a field lies, and whether it is there, the kernel that loads the
 * programs looks up in its own BTF (CO-RE), so that one object serves x86-64, arm64
 * and riscv64.
 */
#ifndef WHYLATE_BPF_KERNEL_H
#define WHYLATE_BPF_KERNEL_H

#include "calls.h"

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef _Bool bool;

#define SECTION(name) __attribute__((section(name), used))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
/* Once in each program that calls it, behind the program. The verifier looks at it by itself, which
 * is much quicker than at each call; so it must look whether it was given anything. */
#define FUNCTION  __attribute__((noinline))
#define KERNEL	  __attribute__((preserve_access_index))
#define barrier() __asm__ volatile("" ::: "memory")
/* The compiler shall know nothing of how this value came about. */
#define opaque(value)	__asm__ volatile("" : "+r"(value))
#define likely(truth)	__builtin_expect(!!(truth), 1)
#define unlikely(truth) __builtin_expect(!!(truth), 0)
#define min(a, b)	((a) < (b) ? (a) : (b))

/* Constants once loaded: the verifier drops what hangs on a field that this kernel lacks. */
#define kernel_has(field)      __builtin_preserve_field_info(field, 2)
#define kernel_size_for(field) __builtin_preserve_field_info(field, 1)
#define kernel_offset(field)   __builtin_preserve_field_info(field, 0)

struct thread_info {
	__u32 cpu;
} KERNEL;

struct rq {
	__u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
} KERNEL;

struct cfs_rq {
	struct rq *rq; /* CONFIG_FAIR_GROUP_SCHED */
} KERNEL;

struct sched_entity {
	struct cfs_rq *cfs_rq; /* CONFIG_FAIR_GROUP_SCHED */
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* Linux 5.14 and later */
	unsigned int flags;
	int prio;
	int normal_prio;
	struct sched_entity se;
	int pid;
	int tgid;
	int on_cpu; /* CONFIG_SMP */
	unsigned long nvcsw;
	unsigned long nivcsw;
	char comm[16];
} KERNEL;

/* The same before Linux 5.14. */
struct task_struct___former {
	long state;
} KERNEL;

struct timer_list {
	void *function;
} KERNEL;

struct work_struct {
	void *func;
} KERNEL;

struct llist_node {
	struct llist_node *next;
} KERNEL;

struct llist_head {
	struct llist_node *first;
} KERNEL;

/* Its node is its first member in every kernel whose lists have these names. */
struct irq_work {
	void *func;
} KERNEL;

/* What the kernel calls struct rcu_head. */
struct callback_head {
	void *func;
} KERNEL;

struct hrtimer_clock_base {
	void *cpu_base; /* hrtimer_bases of its CPU */
	__s64 offset;	/* what its clock is ahead of CLOCK_MONOTONIC */
} KERNEL;

struct hrtimer {
	__s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
} KERNEL;

/* The timer is its first member, here and in every kernel since there are hrtimers. */
struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
} KERNEL;

struct cpumask {
	unsigned long bits[1];
} KERNEL;

struct pt_regs {
	unsigned long di;      /* x86 */
	unsigned long ax;      /* x86: -ENOSYS in a system call */
	unsigned long orig_ax; /* x86: the system call's number; -1: in none */
	unsigned long ip;      /* x86 */
	unsigned long sp;
} KERNEL;

/* What follows ___ is ours alone: one struct of the kernel, as another architecture has it. */
struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 pc;
	__u64 pstate;
	int syscallno; /* -1: in none */
} KERNEL;

struct pt_regs___riscv {
	unsigned long epc;
	unsigned long ra;
	unsigned long s0; /* the frame */
	unsigned long a7; /* the system call's number, in one */
	unsigned long status;
	unsigned long cause; /* why the kernel was entered */
	unsigned long orig_a0;
} KERNEL;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 __u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static __u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_get_stack)(void *context, void *to, __u32 size, __u64 flags) = (void *)67;
static long (*const bpf_get_task_stack)(struct task_struct *task, void *to, __u32 size,
					__u64 flags) = (void *)141;
static __u64 (*const bpf_get_func_ip)(void *context) = (void *)173;
static void *(*const bpf_task_pt_regs)(struct task_struct *task) = (void *)175;
static void *(*const bpf_this_cpu_ptr)(const void *variable) = (void *)154;
static long (*const bpf_probe_read_kernel)(void *to, __u32 size, const void *from) = (void *)113;

static struct task_struct *(*const bpf_task_from_pid)(int pid) = (void *)CALL_TASK_FROM_PID;
static void (*const bpf_task_release)(struct task_struct *task) = (void *)CALL_TASK_RELEASE;
/* Of a program that runs at the entry of a function and at its return: a number that both have, and
 * where it runs. Kernels before 7.0 take no argument, and leave it unread. */
static __u64 *(*const bpf_session_cookie)(void *context) = (void *)CALL_SESSION_COOKIE;
static bool (*const bpf_session_is_return)(void *context) = (void *)CALL_SESSION_IS_RETURN;

#endif
