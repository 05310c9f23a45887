// SPDX-License-Identifier: MIT
/* Where the code of a function of the kernel lies, and what reading it did to an experiment. */
#ifndef WHYLATE_SECTION_CODE_H
#define WHYLATE_SECTION_CODE_H

#include "section/section.h"
#include "wire/send.h"

/* section_code_find - find the code that a section of that plan has in the kernel, for an
 * experiment that reads it; returns 0, or an errno with the text */
int section_code_find(struct section_plan *plan, char *text);

/* section_arms_send - send what became of both arms of an experiment, where there is one */
void section_arms_send(const struct section *section, struct sender *sender);

#endif
