// SPDX-License-Identifier: MIT
/* Who the probe is and what it may do here. */
#ifndef WHYLATE_IDENTITY_H
#define WHYLATE_IDENTITY_H

struct sender;

/* identity_send - send the welcome: build, kernel, rights, limits, clock and CPUs */
void identity_send(struct sender *sender);

#endif
