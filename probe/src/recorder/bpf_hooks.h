// SPDX-License-Identifier: MIT
/* Functions of others, timed by programs at their entry and their return: see hooks.h. */
#ifndef WHYLATE_RECORDER_BPF_HOOKS_H
#define WHYLATE_RECORDER_BPF_HOOKS_H

#include "bpf_maps.h"
#include "engine.h"

/* bpf_hooks_find - list them, and tell the programs that are loaded from now on of the notifiers.
 * functions_at: where in a struct tracepoint its functions are; 0: not known. */
void bpf_hooks_find(struct recorder *recorder, size_t functions_at);

/* bpf_hooks_attach - time each of them, or as many as the kernel lets */
void bpf_hooks_attach(struct recorder *recorder);

/* bpf_hooks_detach - let the kernel run nothing at what others have at tracepoints, until they are
 * attached again */
void bpf_hooks_detach(struct recorder *recorder);

/* bpf_hooks_close - end it for all of them */
void bpf_hooks_close(struct bpf_engine *engine);

#endif
