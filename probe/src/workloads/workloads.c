// SPDX-License-Identifier: MIT
/* The table of workloads, and what several of them need. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

#include "clock.h"
#include "loads/room.h"
#include "recorder/flight.h"
#include "wire/send.h"
#include "workload.h"

/* Memory that samples may take on the board, where more is free. */
#define SPOOL_MOST ((uint64_t)1 << 30)

static const struct workload_ops *const workloads[] = {
    &workload_wakeup, &workload_app,   &workload_switch,
    &workload_memory, &workload_clock, &workload_command,
};

const struct workload_ops *workload_of(uint8_t command)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		if (workloads[i]->command == command)
			return workloads[i];
	return NULL;
}

int workload_fail(struct workload *workload, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(workload->text, sizeof(workload->text), format, arguments);
	va_end(arguments);
	return error;
}

int workload_spool(struct workload *workload)
{
	uint64_t half = room_available_bytes() / 2;

	if (sender_spool(workload->context.sender, (size_t)(half < SPOOL_MOST ? half : SPOOL_MOST)))
		return 0;
	return workload_fail(workload, ENOMEM, "no memory to spool samples in");
}

/* workload_look_ms - the time until the recorder, or the shipping of samples, looks again */
int workload_look_ms(const struct workload *workload)
{
	const struct flight *flight = workload->context.flight;

	return (int)((flight->recording ? flight->look_ns : SHIP_NS) / 1000000u);
}

/* workload_no_input - none: time alone makes it go on */
int workload_no_input(const struct workload *workload)
{
	(void)workload;
	return -1;
}

static uint64_t time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000u;
}

void workload_send_result(struct sender *sender)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	SEND(sender, result, RESULT,
	     .cpu_time_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime),
	     .peak_memory = (uint64_t)usage.ru_maxrss * 1024u);
}
