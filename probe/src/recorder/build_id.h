// SPDX-License-Identifier: MIT
/* The build ids that the kernel and its modules were linked with: the ELF note of GNU ld. */
#ifndef WHYLATE_RECORDER_BUILD_ID_H
#define WHYLATE_RECORDER_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MOST 64u /* bytes; SHA-1 takes 20 */

/* build_id_of_notes - find the first build id in a section of ELF notes; returns its length, or 0
 */
size_t build_id_of_notes(const uint8_t *notes, size_t size, uint8_t *id);

/* build_id_read - read that of a module, or of the kernel where module is empty; returns likewise
 */
size_t build_id_read(const char *module, uint8_t *id);

#endif
