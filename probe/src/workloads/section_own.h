// SPDX-License-Identifier: MIT
/* Code by which executions are timed: a hook there would call itself, or stop the board. */
#ifndef WHYLATE_WORKLOADS_SECTION_OWN_H
#define WHYLATE_WORKLOADS_SECTION_OWN_H

/* section_own_refuse - refuse two places of the kernel, FUNCTION, FUNCTION+0xBYTES or 0xADDRESS,
 * where an address lies in such code, or it is hidden in what it lies; returns 0, or an errno with
 * the text. Names of functions are refused by whoever asks. */
int section_own_refuse(const char *begin, const char *end, char *text);

#endif
