// SPDX-License-Identifier: MIT
#include "names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"

#define THREAD_SLOTS  (2u * NAMES_THREADS)
#define ADDRESS_SLOTS (2u * NAMES_ADDRESSES)

bool names_open(struct names *names, names_sink sink, void *context)
{
	memset(names, 0, sizeof(*names));
	names->sink = sink;
	names->context = context;
	names->threads = calloc(THREAD_SLOTS, sizeof(*names->threads));
	names->thread_ids = calloc(THREAD_SLOTS, sizeof(*names->thread_ids));
	names->addresses = calloc(ADDRESS_SLOTS, sizeof(*names->addresses));
	names->address_ids = calloc(ADDRESS_SLOTS, sizeof(*names->address_ids));
	if (names->threads && names->thread_ids && names->addresses && names->address_ids)
		return true;
	names_release(names);
	return false;
}

void names_release(struct names *names)
{
	free(names->threads);
	free(names->thread_ids);
	free(names->addresses);
	free(names->address_ids);
	memset(names, 0, sizeof(*names));
}

static uint32_t hash(uint64_t value)
{
	return (uint32_t)((value * 0x9E3779B97F4A7C15u) >> 40);
}

uint32_t names_thread(struct names *names, uint64_t low, uint64_t high)
{
	uint32_t slot = hash(low ^ (high << 7 | high >> 57)) % THREAD_SLOTS;
	char text[17] = {0};

	while (names->thread_ids[slot]) {
		if (names->threads[slot][0] == low && names->threads[slot][1] == high)
			return names->thread_ids[slot];
		slot = (slot + 1) % THREAD_SLOTS;
	}
	if (names->thread_count == NAMES_THREADS)
		return 0;
	names->threads[slot][0] = low;
	names->threads[slot][1] = high;
	names->thread_ids[slot] = ++names->thread_count;
	memcpy(text, &low, 8);
	memcpy(text + 8, &high, 8);
	names->sink(names->context, NAMES_THREAD, names->thread_count, text);
	return names->thread_count;
}

uint32_t names_address(struct names *names, uint64_t address)
{
	uint32_t slot = hash(address) % ADDRESS_SLOTS;

	if (!address)
		return 0;
	while (names->address_ids[slot]) {
		if (names->addresses[slot] == address)
			return names->address_ids[slot];
		slot = (slot + 1) % ADDRESS_SLOTS;
	}
	if (names->address_count == NAMES_ADDRESSES)
		return 0;
	names->addresses[slot] = address;
	names->address_ids[slot] = ++names->address_count;
	return names->address_count;
}

void names_interrupt(struct names *names, uint32_t interrupt)
{
	for (size_t i = 0; i < names->interrupt_count; i++)
		if (names->interrupts[i] == interrupt)
			return;
	if (names->interrupt_count < NAMES_INTERRUPTS)
		names->interrupts[names->interrupt_count++] = interrupt;
}

static int compare_addresses(const void *first, const void *second)
{
	uint64_t a = ((const struct symbol *)first)->address;
	uint64_t b = ((const struct symbol *)second)->address;

	return a < b ? -1 : a > b;
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
	struct symbol *symbols = calloc(names->address_count + 1u, sizeof(*symbols));
	size_t count = 0;

	if (!symbols)
		return;
	for (size_t slot = 0; slot < ADDRESS_SLOTS; slot++)
		if (names->address_ids[slot])
			symbols[count++] = (struct symbol){.address = names->addresses[slot],
							   .id = names->address_ids[slot]};
	qsort(symbols, count, sizeof(*symbols), compare_addresses);
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

/* interrupt_name - join the names of an interrupt's handlers with commas */
static bool interrupt_name(uint32_t interrupt, char *text, size_t room)
{
	char path[80];
	FILE *file;
	bool any;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", interrupt);
	file = fopen(path, "re");
	if (!file)
		return false;
	any = fgets(text, (int)room, file) != NULL;
	fclose(file);
	if (any)
		text[strcspn(text, "\n")] = '\0';
	return any && text[0];
}

void names_resolve(struct names *names, struct names_result *result)
{
	char text[160];

	*result = (struct names_result){.addresses = names->address_count};
	for (size_t i = 0; i < names->interrupt_count; i++)
		if (interrupt_name(names->interrupts[i], text, sizeof(text)))
			names->sink(names->context, NAMES_INTERRUPT, names->interrupts[i], text);
	resolve_addresses(names, result);
}
