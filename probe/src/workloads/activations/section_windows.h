// SPDX-License-Identifier: MIT
/*
 * The flight recorder and the section workload: which executions get a window.
 *
 * Nobody asks the recorder to hold a window: an execution is over when its row is read, and by how
 * often the rows are read its events are in the ring still. What is not is not observed.
 */
#ifndef WHYLATE_SECTION_WINDOWS_H
#define WHYLATE_SECTION_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/flight.h"
#include "section/bpf/layout.h"

struct section_windows {
	struct flight *flight;
	bool thins;	   /* controls are thinned out where more come than was tried */
	uint32_t controls; /* windows of them, since since_ns */
	uint64_t since_ns;
};

/* section_windows_start - start the recorder, where one was requested, or note why not; per_s: rows
 * that are expected in a second */
void section_windows_start(struct section_windows *windows, struct flight *flight, uint64_t per_s);

/* section_windows_gather - bring all events until now into the rings */
void section_windows_gather(struct section_windows *windows);

/* section_windows_are_gathered - whether all events of an execution are in the rings */
bool section_windows_are_gathered(const struct section_windows *windows,
				  const struct section_row *row);

/* section_windows_examine - send the window of an execution that is late, or drawn; cpu: where it
 * ended, number: its row's there */
void section_windows_examine(struct section_windows *windows, uint16_t cpu, uint64_t number,
			     const struct section_row *row);

/* section_windows_end - stop the recorder */
void section_windows_end(struct section_windows *windows);

#endif
