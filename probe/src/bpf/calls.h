/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions of the kernel's own that programs call as if they were helpers of these numbers: the
 * loader puts their ids in the kernel's BTF there. */
#ifndef WHYLATE_BPF_CALLS_H
#define WHYLATE_BPF_CALLS_H

#define CALL_TASK_FROM_PID     0x10001
#define CALL_TASK_RELEASE      0x10002
#define CALL_SESSION_COOKIE    0x10003
#define CALL_SESSION_IS_RETURN 0x10004

#endif
