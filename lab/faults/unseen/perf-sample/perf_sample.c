// SPDX-License-Identifier: MIT
/*
 * A profiler samples what its CPU does (cpu-clock), by a timer whose interrupt calls a program in
 * the kernel (bpf()). Now and then that takes size_us for a sample; the others are quick.
 */
#include "fault_beside.h"
#include "fault_bpf.h"

/* No multiple of it is one of the measured thread's periods: samples come at any place of them. */
#define SAMPLE_NS 487000ull

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = SAMPLE_NS,
	};
	struct fault_bpf bpf = fault_bpf_load(BPF_PROG_TYPE_PERF_EVENT);
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	bpf.common->size_ns = size_ns;
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	if (fault_bpf_event(&bpf, &attr, -1, (int)cpu) < 0)
		fault_fail("no samples");
	fault_become(cpu, 1);
	while (fault_wait(&fault)) {
		uint64_t until_ns = fault_now() + SAMPLE_NS + size_ns + FAULT_BESIDE_NS;

		fault_worker_go(&bystander, until_ns);
		atomic_store(&bpf.common->armed, 1);
		fault_sleep(until_ns);
		if (!atomic_exchange(&bpf.common->armed, 0))
			fault_log(&fault, atomic_load(&bpf.common->start_ns),
				  atomic_load(&bpf.common->end_ns), cpu);
	}
	return 0;
}
