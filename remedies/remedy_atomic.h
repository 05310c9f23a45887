/* SPDX-License-Identifier: MIT */
/*
 * Atomics of the remedies: the same source as C11, in the Linux kernel, and under Relacy.
 *
 * An order is written as its bare name: relaxed, acquire, release, acq_rel, seq_cst. Each header
 * names its orders in a table at its top, with the reason of each; remedies/verify/mutants.py
 * weakens them there.
 *
 *     REMEDY_ATOMIC(type)                        the type of a field
 *     REMEDY_LOAD(object, order)
 *     REMEDY_STORE(object, value, order)
 *     REMEDY_EXCHANGE(object, value, order)      returns the value before
 *     REMEDY_ADD(object, value, order)           returns the value before
 *     REMEDY_CAS(object, expected, value, order) weak; `expected` points to a local variable, which
 *                                                gets the value seen; a failure is relaxed
 *     REMEDY_FENCE(order)
 *     REMEDY_FENCE_AFTER_RMW(order)              right after a REMEDY_CAS, EXCHANGE or ADD
 *     REMEDY_RELAX()                             in a loop that waits
 *
 * An x86 locked instruction is a full fence: REMEDY_FENCE_AFTER_RMW emits nothing there.
 */
#ifndef REMEDY_ATOMIC_H
#define REMEDY_ATOMIC_H

/* The arguments are expanded before the order becomes a part of a name. */
#define REMEDY_LOAD(object, order)		   REMEDY_LOAD_(object, order)
#define REMEDY_STORE(object, value, order)	   REMEDY_STORE_(object, value, order)
#define REMEDY_EXCHANGE(object, value, order)	   REMEDY_EXCHANGE_(object, value, order)
#define REMEDY_ADD(object, value, order)	   REMEDY_ADD_(object, value, order)
#define REMEDY_CAS(object, expected, value, order) REMEDY_CAS_(object, expected, value, order)
#define REMEDY_FENCE(order)			   REMEDY_FENCE_(order)
#define REMEDY_FENCE_AFTER_RMW(order)		   REMEDY_FENCE_AFTER_RMW_(order)

#if defined(REMEDY_RELACY)

#include <relacy/relacy.hpp>
#include <stdint.h>

#define REMEDY_ATOMIC(type)		       rl::atomic<type>
#define REMEDY_LOAD_(object, order)	       (object)->load(rl::mo_##order, RL_INFO)
#define REMEDY_STORE_(object, value, order)    (object)->store(value, rl::mo_##order, RL_INFO)
#define REMEDY_EXCHANGE_(object, value, order) (object)->exchange(value, rl::mo_##order, RL_INFO)
#define REMEDY_ADD_(object, value, order)      (object)->fetch_add(value, rl::mo_##order, RL_INFO)
#define REMEDY_CAS_(object, expected, value, order)                                                \
	(object)->compare_exchange_weak(*(expected), value, rl::mo_##order, RL_INFO,               \
					rl::mo_relaxed, RL_INFO)
/* Relacy has no relaxed fence; a mutant that removes a fence needs none. */
#define REMEDY_FENCE_(order)	       REMEDY_FENCE_##order()
#define REMEDY_FENCE_relaxed()	       (void)0
#define REMEDY_FENCE_acquire()	       rl::atomic_thread_fence(rl::mo_acquire, RL_INFO)
#define REMEDY_FENCE_release()	       rl::atomic_thread_fence(rl::mo_release, RL_INFO)
#define REMEDY_FENCE_acq_rel()	       rl::atomic_thread_fence(rl::mo_acq_rel, RL_INFO)
#define REMEDY_FENCE_seq_cst()	       rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO)
#define REMEDY_FENCE_AFTER_RMW_(order) REMEDY_FENCE_##order()
#define REMEDY_RELAX()		       rl::yield(1, RL_INFO)

#elif defined(__KERNEL__)

#include <linux/atomic.h>
#include <linux/limits.h>
#include <linux/processor.h>
#include <linux/types.h>

#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#define UINT32_MAX U32_MAX
#endif

#define REMEDY_ATOMIC(type)		       type
#define REMEDY_LOAD_(object, order)	       REMEDY_LOAD_##order(object)
#define REMEDY_LOAD_relaxed(object)	       READ_ONCE(*(object))
#define REMEDY_LOAD_acquire(object)	       smp_load_acquire(object)
#define REMEDY_STORE_(object, value, order)    REMEDY_STORE_##order(object, value)
#define REMEDY_STORE_relaxed(object, value)    WRITE_ONCE(*(object), value)
#define REMEDY_STORE_release(object, value)    smp_store_release(object, value)
#define REMEDY_EXCHANGE_(object, value, order) REMEDY_EXCHANGE_##order(object, value)
#define REMEDY_EXCHANGE_relaxed(object, value) xchg_relaxed(object, value)
#define REMEDY_EXCHANGE_acquire(object, value) xchg_acquire(object, value)
#define REMEDY_EXCHANGE_release(object, value) xchg_release(object, value)
#define REMEDY_EXCHANGE_acq_rel(object, value) xchg(object, value)
#define REMEDY_EXCHANGE_seq_cst(object, value) xchg(object, value)
/* The kernel adds to its own types only; its xchg() and cmpxchg() know any word. */
#define REMEDY_ADD_(object, value, order)                                                          \
	({                                                                                         \
		__typeof__(*(object)) before_ = READ_ONCE(*(object));                              \
		while (!REMEDY_CAS_##order(object, &before_, before_ + (value)))                   \
			;                                                                          \
		before_;                                                                           \
	})
#define REMEDY_CAS_(object, expected, value, order) REMEDY_CAS_##order(object, expected, value)
#define REMEDY_CAS_relaxed(object, expected, value) try_cmpxchg_relaxed(object, expected, value)
#define REMEDY_CAS_acquire(object, expected, value) try_cmpxchg_acquire(object, expected, value)
#define REMEDY_CAS_release(object, expected, value) try_cmpxchg_release(object, expected, value)
#define REMEDY_CAS_acq_rel(object, expected, value) try_cmpxchg(object, expected, value)
#define REMEDY_CAS_seq_cst(object, expected, value) try_cmpxchg(object, expected, value)
#define REMEDY_FENCE_(order)			    smp_mb()
#define REMEDY_FENCE_AFTER_RMW_(order)		    smp_mb__after_atomic()
#define REMEDY_RELAX()				    cpu_relax()

#elif defined(__cplusplus)
#error "the remedies are C11: include them from a C file"
#else

#include <stdatomic.h>
#include <stdint.h>

#define REMEDY_ATOMIC(type)	    _Atomic(type)
#define REMEDY_LOAD_(object, order) atomic_load_explicit(object, memory_order_##order)
#define REMEDY_STORE_(object, value, order)                                                        \
	atomic_store_explicit(object, value, memory_order_##order)
#define REMEDY_EXCHANGE_(object, value, order)                                                     \
	atomic_exchange_explicit(object, value, memory_order_##order)
#define REMEDY_ADD_(object, value, order)                                                          \
	atomic_fetch_add_explicit(object, value, memory_order_##order)
#define REMEDY_CAS_(object, expected, value, order)                                                \
	atomic_compare_exchange_weak_explicit(object, expected, value, memory_order_##order,       \
					      memory_order_relaxed)

#if defined(__SANITIZE_THREAD__)
#define REMEDY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REMEDY_TSAN 1
#endif
#endif

/* ThreadSanitizer knows no fences. None of ours makes plain data safe: it needs none. */
#ifdef REMEDY_TSAN
#define REMEDY_FENCE_(order) atomic_signal_fence(memory_order_##order)
#else
#define REMEDY_FENCE_(order) atomic_thread_fence(memory_order_##order)
#endif

#if defined(__x86_64__) || defined(__i386__)
#define REMEDY_FENCE_AFTER_RMW_(order) atomic_signal_fence(memory_order_##order)
#define REMEDY_RELAX()		       __builtin_ia32_pause()
#else
#define REMEDY_FENCE_AFTER_RMW_(order) REMEDY_FENCE_(order)
#if defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
#define REMEDY_RELAX() __asm__ volatile("yield" : : : "memory")
#else
#define REMEDY_RELAX() atomic_signal_fence(memory_order_seq_cst)
#endif
#endif

#endif
#endif
