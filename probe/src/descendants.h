// SPDX-License-Identifier: MIT
/* Every process below this one, however far. */
#ifndef WHYLATE_DESCENDANTS_H
#define WHYLATE_DESCENDANTS_H

/* descendants_kill - end them all with SIGKILL and reap them.
 * The caller must be their subreaper: then none can escape, whatever session it is in. */
void descendants_kill(void);

#endif
