// SPDX-License-Identifier: MIT
/* Which processes the kernel ends first where memory runs out. */
#ifndef WHYLATE_OOM_H
#define WHYLATE_OOM_H

/* oom_score - of this process and of those that it will start; "1000": they go before all others */
void oom_score(const char *score);

#endif
