// SPDX-License-Identifier: MIT
/*
 * Functions of the kernel: its symbols, of which its lists say where a hook may be.
 *
 * A symbol that no list has can be one that the compiler gave a part of a function, or that is only
 * there while the kernel boots.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "glob.h"
#include "kinds.h"
#include "tracefs/mount.h"

#define SYMBOLS	  "/proc/kallsyms"
#define TRACEABLE "available_filter_functions"
#define FORBIDDEN "kprobes/blacklist"
/* The longest line that is read whole: a name has 511 bytes at most. */
#define LINE 1024

/* Flags of a name. */
enum { IS_TRACEABLE = 1, IS_FORBIDDEN = 2, IS_MANY = 4 };

/* Code that is there while the kernel boots. */
struct boot_code {
	uint64_t begin;
	uint64_t end;
};

/* is_hidden - whether a symbol is none of a function that somebody wrote */
static bool is_hidden(const char *name, const char *module)
{
	return *name == '$' || *name == '.' || !strncmp(name, "__pfx_", 6) ||
	       !strncmp(name, "__cfi_", 6) || !strcmp(module, "[bpf]") ||
	       !strncmp(module, "[__builtin", 10);
}

/* next_word - cut the next word off a line; "": there is none */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t\n");
	size_t length = strcspn(word, " \t\n");

	*line = word + length + (word[length] != '\0');
	word[length] = '\0';
	return word;
}

/* read_symbols - keep the functions that match; returns 0, or an errno with the text */
static int read_symbols(struct listing *listing, const char *pattern, struct boot_code *boot,
			char *text)
{
	FILE *file = fopen(SYMBOLS, "re");
	char line[LINE];
	int error = 0;

	if (!file) {
		listing->lacks |= LACKS_SYMBOLS;
		return 0;
	}
	while (!error && fgets(line, sizeof(line), file)) {
		char *rest = line;
		uint64_t address = strtoull(next_word(&rest), NULL, 16);
		char type = *next_word(&rest), *name = next_word(&rest), *module = next_word(&rest);

		if (!type || !strchr("tTwW", type))
			continue;
		if (!strcmp(name, "_sinittext"))
			boot->begin = address;
		if (!strcmp(name, "_einittext"))
			boot->end = address;
		if (glob_matches(pattern, name) && !is_hidden(name, module))
			error = names_add(&listing->names, name, module, address, 0);
	}
	fclose(file);
	return error ? fail(text, error, "no memory for the names: %s", strerror(error)) : 0;
}

/* mark_listed - mark the names of a list of the kernel's whose lines have them as that word, from
 * 0; false: it cannot be read */
static bool mark_listed(struct listed_names *names, int directory, const char *path, unsigned word,
			uint8_t flag)
{
	int fd = directory < 0 ? -1 : openat(directory, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE];

	if (!file) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (fgets(line, sizeof(line), file)) {
		char *rest = line, *name = next_word(&rest);
		struct listed_name *listed;

		for (unsigned i = 0; i < word; i++)
			name = next_word(&rest);
		listed = names_find(names, name, strlen(name));
		if (listed)
			listed->flags |= flag;
	}
	fclose(file);
	return true;
}

/* mark_types - set which functions the kernel's BTF has; false: there is none */
static bool mark_types(struct listed_names *names)
{
	struct btf_text types;
	bool is_read = !btf_text_read(&types);

	if (is_read) {
		struct btf_entry entry = btf_text_first(&types);

		while (btf_text_next(&types, &entry)) {
			struct listed_name *listed =
			    entry.kind == BTF_KIND_FUNC
				? names_find(names, entry.name, strlen(entry.name))
				: NULL;

			if (listed)
				listed->type = entry.id;
		}
	}
	btf_text_close(&types);
	return is_read;
}

/* judge - say of a name by which hooks it can be timed, or why by none */
static void judge(const struct listing *listing, const struct boot_code *boot,
		  struct listed_name *name)
{
	bool is_traceable = listing->lacks & LACKS_TRACEABLE || name->flags & IS_TRACEABLE;

	if (strstr(name->name, ".cold"))
		name->obstacle = OBSTACLE_FRAGMENT;
	else if (name->address && name->address >= boot->begin && name->address < boot->end)
		name->obstacle = OBSTACLE_BOOT;
	else if (!is_traceable)
		name->obstacle = OBSTACLE_NOTRACE;
	if (name->obstacle)
		return;
	if (name->type)
		name->hooks |= hook_bit(HOOK_FENTRY);
	/* Where ftrace has a place, it is known to be one. */
	if (!(listing->lacks & LACKS_TRACEABLE))
		name->hooks |= hook_bit(HOOK_KPROBE_SESSION) | hook_bit(HOOK_KPROBE_MULTI);
	if (!(name->flags & IS_FORBIDDEN))
		name->hooks |= hook_bit(HOOK_KPROBE) | hook_bit(HOOK_KPROBE_EVENT);
	if (!name->hooks)
		name->obstacle = OBSTACLE_FORBIDDEN;
}

int list_functions(struct listing *listing, const char *pattern, char *text)
{
	struct listed_names *names = &listing->names;
	struct boot_code boot = {0};
	char reason[FAILURE_TEXT];
	int root = -1, error = read_symbols(listing, pattern, &boot, text);

	if (error)
		return error;
	names_sort(names, true);
	if (mount_open(&root, reason))
		root = -1;
	if (!mark_listed(names, root, TRACEABLE, 0, IS_TRACEABLE))
		listing->lacks |= LACKS_TRACEABLE;
	if (root >= 0)
		close(root);
	if (mount_open_debug(&root))
		root = -1;
	/* Each line: BEGIN-END NAME */
	if (!mark_listed(names, root, FORBIDDEN, 1, IS_FORBIDDEN))
		listing->lacks |= LACKS_FORBIDDEN;
	if (root >= 0)
		close(root);
	if (!mark_types(names))
		listing->lacks |= LACKS_TYPES;
	for (size_t i = 0; i < names->count; i++)
		judge(listing, &boot, &names->at[i]);
	return 0;
}
