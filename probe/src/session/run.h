// SPDX-License-Identifier: MIT
/* A command for the host, which gets its output while it runs: nothing of it is measured. */
#ifndef WHYLATE_SESSION_RUN_H
#define WHYLATE_SESSION_RUN_H

#include "workloads/workload.h"

/* Run like a workload, so that it is the only thing that runs. */
extern const struct workload_ops run_ops;

#endif
