/* SPDX-License-Identifier: MIT */
/* Where the kernel's tracing files are: mounted already, or mounted for us alone. */
#ifndef WHYLATE_TRACEFS_MOUNT_H
#define WHYLATE_TRACEFS_MOUNT_H

#define TRACEFS_MESSAGE 256

/* mount_open - open the top directory of tracefs. Returns 0, or an errno with one line in text
 * (TRACEFS_MESSAGE bytes). A mount of our own ends with the last file opened in it: nothing
 * has to be undone, however the probe ends. */
int mount_open(int *root, char *text);

#endif
