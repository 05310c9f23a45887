// SPDX-License-Identifier: MIT
#include "names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "numbers.h"
#include "small_file.h"

/* An entry of a table: id 0 is free. */
struct id_entry {
	uint64_t key[2];
	uint32_t id;
};

static bool open_table(struct id_table *table, uint32_t most)
{
	*table = (struct id_table){.most = most};
	table->entries = calloc(2 * (size_t)most, sizeof(*table->entries));
	return table->entries;
}

/* table_id - return the id of a key, which is numbered when it first occurs; 0: the table is full
 */
static uint32_t table_id(struct id_table *table, uint64_t low, uint64_t high)
{
	uint64_t mixed = (low ^ (high << 7 | high >> 57)) * 0x9E3779B97F4A7C15u;
	uint32_t slot = (uint32_t)(mixed >> 40) % (2 * table->most);
	struct id_entry *entry = &table->entries[slot];

	while (entry->id && (entry->key[0] != low || entry->key[1] != high)) {
		slot = (slot + 1) % (2 * table->most);
		entry = &table->entries[slot];
	}
	if (!entry->id && table->count < table->most)
		*entry = (struct id_entry){{low, high}, ++table->count};
	return entry->id;
}

bool names_open(struct names *names, names_sink sink, void *context)
{
	memset(names, 0, sizeof(*names));
	names->sink = sink;
	names->context = context;
	if (open_table(&names->threads, NAMES_THREADS) && open_table(&names->tasks, NAMES_TASKS) &&
	    open_table(&names->addresses, NAMES_ADDRESSES))
		return true;
	names_release(names);
	return false;
}

void names_release(struct names *names)
{
	free(names->threads.entries);
	free(names->addresses.entries);
	free(names->tasks.entries);
	memset(names, 0, sizeof(*names));
}

uint32_t names_thread(struct names *names, uint64_t low, uint64_t high)
{
	uint32_t known = names->threads.count, id = table_id(&names->threads, low, high);
	char text[17] = {0};

	if (id > known) {
		memcpy(text, &low, 8);
		memcpy(text + 8, &high, 8);
		names->sink(names->context, NAMES_THREAD, id, text);
	}
	return id;
}

/* start_of - return when a thread began, in clock ticks since boot; 0: it is gone (proc(5), stat)
 */
static uint64_t start_of(uint32_t pid)
{
	char path[64], text[512], *at;
	uint64_t start = 0;

	/* Of the thread alone: its process's file sums up all of its threads. */
	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, pid);
	if (small_file_read(AT_FDCWD, path, text, sizeof(text)))
		return 0;
	/* Its name, which may hold anything, ends at the last bracket. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	return start;
}

void names_task(struct names *names, uint32_t pid, uint32_t thread)
{
	uint32_t known = names->tasks.count;
	char path[64], text[48];
	uint64_t start, process;

	/* The idle threads have no directory. */
	if (!pid || !thread || table_id(&names->tasks, pid, thread) <= known)
		return;
	start = start_of(pid);
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	process = small_file_number(AT_FDCWD, path, "Tgid:");
	snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)process,
		 (unsigned long long)start);
	/* Both, or it has ended meanwhile. */
	if (start && process)
		names->sink(names->context, NAMES_TASK, pid | (uint64_t)thread << 32, text);
}

uint32_t names_address(struct names *names, uint64_t address, bool data)
{
	return address ? table_id(&names->addresses, address, data) : 0;
}

void names_interrupt(struct names *names, uint32_t interrupt)
{
	for (size_t i = 0; i < names->interrupt_count; i++)
		if (names->interrupts[i] == interrupt)
			return;
	if (names->interrupt_count < NAMES_INTERRUPTS)
		names->interrupts[names->interrupt_count++] = interrupt;
}

/* note_module - note that a function of a module was named */
static void note_module(struct names_result *result, const char *module)
{
	for (size_t i = 0; i < result->module_count; i++)
		if (!strcmp(result->modules[i], module))
			return;
	if (module[0] && result->module_count < NAMES_MODULES)
		strcpy(result->modules[result->module_count++], module);
}

static void resolve_addresses(struct names *names, struct names_result *result)
{
	const struct id_table *table = &names->addresses;
	struct symbol *symbols = calloc(table->count + 1u, sizeof(*symbols));
	size_t count = 0;

	if (!symbols)
		return;
	for (size_t slot = 0; slot < 2 * (size_t)table->most; slot++)
		if (table->entries[slot].id)
			symbols[count++] = (struct symbol){.address = table->entries[slot].key[0],
							   .id = table->entries[slot].id,
							   .data = table->entries[slot].key[1]};
	qsort(symbols, count, sizeof(*symbols), compare_u64);
	result->shown = kallsyms_resolve(symbols, count);
	for (size_t i = 0; i < count; i++) {
		if (!symbols[i].name[0])
			continue;
		names->sink(names->context, NAMES_FUNCTION, symbols[i].id, symbols[i].name);
		note_module(result, symbols[i].module);
		result->named++;
	}
	free(symbols);
}

bool names_of_interrupt(uint32_t interrupt, char *text, size_t size)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", interrupt);
	return small_file_line(AT_FDCWD, path, text, size);
}

void names_resolve(struct names *names, struct names_result *result)
{
	char text[160];

	*result = (struct names_result){.addresses = names->addresses.count};
	for (size_t i = 0; i < names->interrupt_count; i++)
		if (names_of_interrupt(names->interrupts[i], text, sizeof(text)))
			names->sink(names->context, NAMES_INTERRUPT, names->interrupts[i], text);
	resolve_addresses(names, result);
}
