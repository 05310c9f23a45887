// SPDX-License-Identifier: MIT
#include "device.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "small_file.h"

#define DEVICES	     "/sys/devices"
#define SECTOR_BYTES 512u

/* One line of /proc/interrupts that has a number: "45:  10  20  GICv2 78 Level  eth0, other". */
struct line {
	unsigned int number;
	uint64_t total;
	char *actions; /* "eth0, other"; "" where there are none */
};

/* parse_line - false for lines without a number, such as those of the CPU itself */
static bool parse_line(char *text, size_t cpus, struct line *line)
{
	char *at;

	text[strcspn(text, "\n")] = '\0';
	line->number = (unsigned int)strtoul(text, &at, 10);
	if (*at != ':' || at == text)
		return false;
	at++;
	line->total = 0;
	for (size_t i = 0; i < cpus; i++)
		line->total += strtoull(at, &at, 10);
	/* The actions are the last word, and the words before it that end with a comma. */
	line->actions = text + strlen(text);
	while (line->actions > at) {
		char *word = line->actions;
		while (word > at && word[-1] == ' ')
			word--;
		if (*line->actions && (word == at || word[-1] != ','))
			break;
		while (word > at && word[-1] != ' ')
			word--;
		line->actions = word;
	}
	return true;
}

/* for_each_line - call with every line that has a number until one returns false */
static void for_each_line(bool (*visit)(struct line *line, void *argument), void *argument)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char *text = NULL;
	size_t room = 0, cpus = 0;
	struct line line;

	if (!file)
		return;
	if (getline(&text, &room, file) > 0)
		for (const char *at = text; (at = strstr(at, "CPU")); at += 3)
			cpus++;
	while (getline(&text, &room, file) > 0)
		if (parse_line(text, cpus, &line) && !visit(&line, argument))
			break;
	free(text);
	fclose(file);
}

/* is_named - whether one of the actions is of that device: "eth0", "eth0-rx-1", but not "eth01" */
static bool is_named(const char *actions, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = actions; length && at && *at; at = strchr(at, ',')) {
		at += strspn(at, ", ");
		if (!strncmp(at, name, length) && !isalnum((unsigned char)at[length]))
			return true;
	}
	return false;
}

struct search {
	struct device *device;
	const char *directory; /* of a device */
	const char *name;      /* of its interface or disk; "" for devices above it */
};

/* belongs - whether a line is of the device in this directory */
static bool belongs(const struct search *search, const struct line *line)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/msi_irqs/%u", search->directory, line->number);
	if (!access(path, F_OK))
		return true;
	snprintf(path, sizeof(path), "%s/irq", search->directory);
	if (line->number && small_file_number(AT_FDCWD, path, "") == line->number)
		return true;
	return is_named(line->actions, search->name) ||
	       is_named(line->actions, strrchr(search->directory, '/') + 1);
}

/* keep_line - remember a line that is of the device, and its name */
static bool keep_line(struct line *line, void *argument)
{
	struct search *search = argument;
	struct device *device = search->device;
	char *lines = device->shown->lines;
	size_t used = strlen(lines);

	if (!*line->actions || !belongs(search, line))
		return true;
	char *end = line->actions;
	for (const char *c = line->actions; *c; c++)
		if (isgraph((unsigned char)*c))
			*end++ = *c;
	*end = '\0';
	/* Names that find no room are counted all the same. */
	if (used + strlen(line->actions) + 2 <= sizeof(device->shown->lines))
		snprintf(lines + used, sizeof(device->shown->lines) - used, "%s%s", used ? "," : "",
			 line->actions);
	device->lines[device->line_count++] = line->number;
	return device->line_count < DEVICE_MAX_LINES;
}

/* find_lines - the interrupts of a device, or of the nearest one above it; path: of the device */
static void find_lines(struct device *device, const char *path)
{
	char directory[PATH_MAX];
	struct search search = {device, directory, device->shown->name};

	if (!realpath(path, directory))
		return;
	while (!strncmp(directory, DEVICES "/", sizeof(DEVICES))) {
		for_each_line(keep_line, &search);
		if (device->line_count)
			return;
		*strrchr(directory, '/') = '\0';
		search.name = "";
	}
}

void device_of_interface(struct device *device, struct load_device *shown, const char *name)
{
	char path[64];

	*device = (struct device){.shown = shown, .softirq = "NET_RX:"};
	snprintf(shown->name, sizeof(shown->name), "%s", name);
	snprintf(device->statistics, sizeof(device->statistics), "/sys/class/net/%.32s/statistics",
		 name);
	snprintf(path, sizeof(path), "/sys/class/net/%.32s/device", name);
	find_lines(device, path);
}

void device_of_disk(struct device *device, struct load_device *shown, unsigned int major,
		    unsigned int minor)
{
	char path[64], directory[PATH_MAX];

	*device = (struct device){.shown = shown, .softirq = "BLOCK:"};
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
	snprintf(device->statistics, sizeof(device->statistics), "%s/stat", path);
	if (!realpath(path, directory))
		return;
	snprintf(shown->name, sizeof(shown->name), "%.31s", strrchr(directory, '/') + 1);
	find_lines(device, path);
}

struct sum {
	const struct device *device;
	uint64_t total;
};

static bool add_line(struct line *line, void *argument)
{
	struct sum *sum = argument;

	for (size_t i = 0; i < sum->device->line_count; i++)
		if (sum->device->lines[i] == line->number)
			sum->total += line->total;
	return true;
}

/* softirqs - how often the device's softirq was raised, on all CPUs */
static uint64_t softirqs(const char *name)
{
	FILE *file = fopen("/proc/softirqs", "re");
	char *text = NULL;
	size_t room = 0;
	uint64_t total = 0;

	if (!file)
		return 0;
	while (getline(&text, &room, file) > 0) {
		char *at = strstr(text, name), *next;
		if (!at)
			continue;
		at += strlen(name);
		for (uint64_t count = strtoull(at, &next, 10); next != at;
		     at = next, count = strtoull(at, &next, 10))
			total += count;
	}
	free(text);
	fclose(file);
	return total;
}

static uint64_t interface_count(const struct device *device, const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", device->statistics, name);
	return small_file_number(AT_FDCWD, path, "");
}

static void show(const struct device *device, enum load_counted which, uint64_t value)
{
	atomic_store_explicit(&device->shown->counted[which], value, memory_order_relaxed);
}

/* count_disk - Documentation/admin-guide/iostats.rst: reads, merged, sectors, ms, writes, ... */
static void count_disk(const struct device *device)
{
	unsigned long long reads, read_sectors, writes, written_sectors;
	char text[512];

	if (small_file_read(AT_FDCWD, device->statistics, text, sizeof(text)) ||
	    sscanf(text, "%llu %*u %llu %*u %llu %*u %llu", &reads, &read_sectors, &writes,
		   &written_sectors) != 4)
		return;
	show(device, LOAD_IN_COUNT, reads);
	show(device, LOAD_IN_BYTES, read_sectors * SECTOR_BYTES);
	show(device, LOAD_OUT_COUNT, writes);
	show(device, LOAD_OUT_BYTES, written_sectors * SECTOR_BYTES);
}

void device_count(const struct device *device)
{
	struct sum sum = {.device = device};

	show(device, LOAD_COUNTED_NS, clock_ns());
	for_each_line(add_line, &sum);
	show(device, LOAD_INTERRUPTS, sum.total);
	show(device, LOAD_SOFTIRQS, softirqs(device->softirq));
	if (device->softirq[0] == 'B') {
		count_disk(device);
	} else {
		show(device, LOAD_IN_COUNT, interface_count(device, "rx_packets"));
		show(device, LOAD_IN_BYTES, interface_count(device, "rx_bytes"));
		show(device, LOAD_OUT_COUNT, interface_count(device, "tx_packets"));
		show(device, LOAD_OUT_BYTES, interface_count(device, "tx_bytes"));
	}
	atomic_store_explicit(&device->shown->is_known, 1, memory_order_release);
}
