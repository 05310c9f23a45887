// SPDX-License-Identifier: MIT
/*
 * The device that a load drives, and what the kernel counts of it.
 *
 * Its interrupts are the lines of /proc/interrupts that belong to it or, where none does, to the
 * nearest device above it that has any: those of a USB adapter are its host controller's.
 */
#ifndef WHYLATE_LOAD_DEVICE_H
#define WHYLATE_LOAD_DEVICE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

#define DEVICE_MAX_LINES 64

struct device {
	struct load_device *shown; /* in the slot of the load */
	char statistics[128];	   /* directory, or file, of what was transferred */
	const char *softirq;	   /* its line in /proc/softirqs */
	unsigned int lines[DEVICE_MAX_LINES];
	size_t line_count;
};

/* device_of_interface - a network interface, by its name */
void device_of_interface(struct device *device, struct load_device *shown, const char *name);

/* device_of_disk - a disk or partition, by its number */
void device_of_disk(struct device *device, struct load_device *shown, unsigned int major,
		    unsigned int minor);

/* device_count - read what was counted so far, and show it */
void device_count(const struct device *device);

#endif
