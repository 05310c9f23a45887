// SPDX-License-Identifier: MIT
/* How a virtual board gets the files of a run: from memory that its emulator shares with the host.
 */
#ifndef WHYLATE_HANDOVER_H
#define WHYLATE_HANDOVER_H

/* handover_write - let the emulator stop the board here, then write the shared files to `out`
 *
 * QEMU's pvpanic device stops the board at this instruction, in each boot the same, where the host
 * wants a snapshot of it; elsewhere the write does nothing. What is read behind it belongs to the
 * run: a board that is resumed from the snapshot reads the memory of its own emulator. Returns 0,
 * or an errno with a line on standard error. */
int handover_write(int out);

#endif
