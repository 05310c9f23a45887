// SPDX-License-Identifier: MIT
#include "kallsyms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Farther from the start of its symbol than that, an address is in none of them. */
#define LARGEST_FUNCTION (1u << 20)

/* first_from - return the first of the sorted symbols whose address is at or above start */
static size_t first_from(const struct symbol *symbols, size_t count, uint64_t start)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* parse_module - copy a module's name without its brackets */
static void parse_module(struct symbol *symbol, const char *module)
{
	snprintf(symbol->module, sizeof(symbol->module), "%.55s", module[0] ? module + 1 : "");
	symbol->module[strcspn(symbol->module, "]")] = '\0';
}

/* A line of kallsyms. */
struct line {
	uint64_t start; /* 0 where addresses are hidden */
	char type;
	char name[256];
	char module[64]; /* in brackets; empty: it is in the kernel itself */
};

/* next_line - read the next line that has a symbol; false at the end */
static bool next_line(FILE *file, struct line *line)
{
	char text[512];

	while (fgets(text, sizeof(text), file)) {
		line->module[0] = '\0';
		if (sscanf(text, "%" SCNx64 " %c %255s %63s", &line->start, &line->type, line->name,
			   line->module) >= 3)
			return true;
	}
	return false;
}

/*
 * add_line - keep a symbol of the kernel with the first address at or above it, if none that is
 * kept there is nearer
 *
 * Modules follow the kernel and are not sorted.
 */
static void add_line(struct symbol *symbols, size_t count, const struct line *line)
{
	size_t i = first_from(symbols, count, line->start);
	struct symbol *symbol = &symbols[i];

	if (i == count || symbol->start > line->start ||
	    (symbol->start == line->start && symbol->name[0]))
		return;
	symbol->start = line->start;
	symbol->type = line->type;
	snprintf(symbol->name, sizeof(symbol->name), "%.80s", line->name);
	parse_module(symbol, line->module);
}

static bool is_function(const struct symbol *symbol)
{
	return symbol->type && strchr("tTwW", symbol->type);
}

/* name_all - name all addresses after the nearest symbol below, which is kept with that address or
 * with one before it */
static void name_all(struct symbol *symbols, size_t count)
{
	struct symbol nearest = {0};

	for (size_t i = 0; i < count; i++) {
		struct symbol *symbol = &symbols[i];
		uint64_t behind;

		if (symbol->name[0] && symbol->start >= nearest.start)
			nearest = *symbol;
		behind = symbol->address - nearest.start;
		symbol->name[0] = symbol->module[0] = '\0';
		symbol->start = 0;
		if (!nearest.name[0] || behind >= LARGEST_FUNCTION ||
		    is_function(&nearest) == symbol->data)
			continue;
		symbol->start = nearest.start;
		memcpy(symbol->module, nearest.module, sizeof(symbol->module));
		snprintf(symbol->name, sizeof(symbol->name), "%.80s+0x%" PRIx64 "%s%.30s%s",
			 nearest.name, behind, nearest.module[0] ? " [" : "", nearest.module,
			 nearest.module[0] ? "]" : "");
	}
}

/* is_label - whether a symbol is no function's: $x and the like mark ARM's code and data, and
 * RISC-V's modules have the compiler's own labels */
static bool is_label(const char *name)
{
	return name[0] == '$' || !strncmp(name, ".L", 2);
}

bool kallsyms_resolve(struct symbol *symbols, size_t count)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct line line;
	bool shown = false;

	if (!file)
		return false;
	while (next_line(file, &line)) {
		if (line.start && !is_label(line.name))
			add_line(symbols, count, &line);
		shown |= line.start != 0;
	}
	fclose(file);
	name_all(symbols, count);
	return shown;
}

void kallsyms_each(void (*take)(void *context, const char *name, uint64_t address), void *context)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct line line;

	if (!file)
		return;
	while (next_line(file, &line))
		if (line.start && !line.module[0])
			take(context, line.name, line.start);
	fclose(file);
}
