// SPDX-License-Identifier: MIT
/* The bytes of the running kernel's BTF, entry by entry: nothing of them is trusted. */
#ifndef WHYLATE_BPF_BTF_TEXT_H
#define WHYLATE_BPF_BTF_TEXT_H

#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf_text {
	char *data; /* a 0 byte is behind the last */
	size_t size;
};

/* An entry that is read. */
struct btf_entry {
	struct btf_type type;
	uint32_t id;
	uint32_t kind;
	uint32_t members;
	const char *name; /* "": it has none */
	uint64_t at;	  /* what follows its struct btf_type */
	uint64_t next;	  /* the next entry */
	bool is_damaged;
};

/* btf_text_read - read the whole file; returns 0 or an errno, ENOENT without BTF, EPROTO where it
 * is damaged. btf_text_close is needed in either case. */
int btf_text_read(struct btf_text *text);
void btf_text_close(struct btf_text *text);

/* btf_text_keep - from now on the file, of some MiB, is read at most once, until btf_text_forget():
 * for several programs that are loaded after each other. What is read meanwhile is closed before
 * that. All of this is called by one thread. */
void btf_text_keep(void);
void btf_text_forget(void);

/* btf_text_first - the place before the first entry */
struct btf_entry btf_text_first(const struct btf_text *text);

/* btf_text_next - read the entry behind this one; false: there are no more, or it is damaged */
bool btf_text_next(const struct btf_text *text, struct btf_entry *entry);

/* btf_text_string - a name by its offset; "": there is none there */
const char *btf_text_string(const struct btf_text *text, uint32_t offset);

#endif
