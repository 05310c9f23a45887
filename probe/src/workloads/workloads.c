// SPDX-License-Identifier: MIT
/* The table of workloads, and what several of them need. */
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#include "clock.h"
#include "loads/memory_size.h"
#include "recorder/flight.h"
#include "wire/send.h"
#include "workload.h"

/* Memory that samples may take on the board, where more is free. */
#define SPOOL_MOST ((uint64_t)1 << 30)

static const struct workload_ops *const workloads[] = {
    &workload_wakeup,  &workload_app,	       &workload_section,	&workload_switch,
    &workload_memory,  &workload_clock,	       &workload_shared_clock,	&workload_bulk,
    &workload_command, &workload_off,	       &workload_traced_switch, &workload_flush,
    &workload_offset,  &workload_switch_flush,
};

const struct workload_ops *workload_of(uint8_t command)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		if (workloads[i]->command == command)
			return workloads[i];
	return NULL;
}

int workload_spool(struct workload *workload)
{
	uint64_t half = memory_available_bytes() / 2;

	if (sender_spool(workload->context.sender, (size_t)(half < SPOOL_MOST ? half : SPOOL_MOST)))
		return 0;
	return fail(workload->text, ENOMEM, "no memory to spool samples in");
}

int workload_look_ms(const struct workload *workload)
{
	const struct flight *flight = workload->context.flight;

	return (int)((flight->recording ? flight->look_ns : SHIP_NS) / NS_PER_MS);
}

void workload_send_result(struct sender *sender)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	SEND(sender, result, RESULT,
	     .cpu_time_ns = clock_timeval_ns(usage.ru_utime) + clock_timeval_ns(usage.ru_stime),
	     .peak_memory = (uint64_t)usage.ru_maxrss * 1024u);
}
