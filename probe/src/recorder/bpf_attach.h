// SPDX-License-Identifier: MIT
/* Attaching the programs of the BPF engine, and detaching them for a while. */
#ifndef WHYLATE_RECORDER_BPF_ATTACH_H
#define WHYLATE_RECORDER_BPF_ATTACH_H

#include <stdbool.h>

#include "bpf_sources.h"
#include "engine.h"

struct bpf_engine;

/* bpf_attach - attach the program of a source; returns the descriptor of the link, or -1 with
 * errno */
int bpf_attach(const struct bpf_engine *engine, const struct bpf_source *source);

/* bpf_detach - as struct recorder_engine has it */
int bpf_detach(struct recorder *recorder, bool detached);

#endif
