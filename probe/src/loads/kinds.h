// SPDX-License-Identifier: MIT
/* The loads behind the table in loads.c. */
#ifndef WHYLATE_LOAD_KINDS_H
#define WHYLATE_LOAD_KINDS_H

#include "load.h"

#define DECLARE(name, unit, doc) void load_##name(struct load_context *context);
WIRE_LOADS(DECLARE)

/* load_end - like load_fail, for a load that came to its own end without an error */
void load_end(struct load_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
