// SPDX-License-Identifier: MIT
/* Why something failed: an errno and one line for the user. */
#ifndef WHYLATE_FAILURE_H
#define WHYLATE_FAILURE_H

/* Bytes of a text. Functions that return an errno and have a parameter `text` fill it in then. */
#define FAILURE_TEXT 512

/* fail - fill in the text, printf-style; returns error */
int fail(char *text, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
