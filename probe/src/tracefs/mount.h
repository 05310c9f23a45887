/* SPDX-License-Identifier: MIT */
/* The kernel's tracing files: mounted already, or mounted for the probe alone. */
#ifndef WHYLATE_TRACEFS_MOUNT_H
#define WHYLATE_TRACEFS_MOUNT_H

/* mount_open - open the top directory of tracefs; returns 0, or an errno with the text
 *
 * A mount of our own ends with the last file opened in it: nothing has to be undone, however the
 * probe ends.
 */
int mount_open(int *root, char *text);

/* mount_open_debug - open the top directory of debugfs, likewise; returns 0 or an errno */
int mount_open_debug(int *root);

#endif
