// SPDX-License-Identifier: MIT
/*
 * A probe on an instruction of the measured program (a uprobe, as debuggers and tracers set them):
 * the first one behind its sleep. A program in the kernel (bpf()) is called there, in the measured
 * thread on its way back from the exception of a breakpoint, and now and then takes size_us.
 */
#include "fault_beside.h"
#include "fault_bpf.h"

/* So long it waits for the measured thread, and the bystander has the CPU. */
#define AROUND_NS 600000ull

/* A place in a file: where the sleeping thread goes on. */
struct place {
	char file[512];
	uint64_t offset;
};

static uint32_t type_of_probes(void)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	FILE *file = fopen(path, "re");
	unsigned int type = 0;

	if (!file || fscanf(file, "%u", &type) != 1)
		fault_fail(path);
	fclose(file);
	return type;
}

/* address_of - the instruction behind the system call in which a thread sleeps; 0: in none */
static uint64_t address_of(const struct fault_measured *measured)
{
	uint64_t address = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", measured->process,
		 measured->thread);
	file = fopen(path, "re");
	/* Its number, six arguments, the stack and the address; or `running`. */
	if (file && fgets(line, sizeof(line), file) && strrchr(line, ' '))
		address = strtoull(strrchr(line, ' '), NULL, 16);
	if (file)
		fclose(file);
	return address;
}

static bool find_place(const struct fault_measured *measured, struct place *place)
{
	uint64_t address = address_of(measured), start, end, offset;
	char path[40], line[640];
	bool known = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", measured->process);
	maps = fopen(path, "re");
	while (maps && !known && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %511[^\n]",
			   &start, &end, &offset, place->file) != 4)
			continue;
		known = address >= start && address < end && place->file[0] == '/';
		place->offset = address - start + offset;
	}
	if (maps)
		fclose(maps);
	return known;
}

/* set_probe - in the measured program, unless it is there already; false: not now */
static bool set_probe(const struct fault_bpf *bpf, const struct fault_measured *measured)
{
	struct perf_event_attr attr = {.type = type_of_probes(), .size = sizeof(attr)};
	static int event = -1;
	struct place place;

	if (bpf->common->thread == (uint64_t)measured->thread)
		return true;
	if (!find_place(measured, &place))
		return false;
	if (event >= 0)
		close(event);
	attr.uprobe_path = (uintptr_t)place.file;
	attr.probe_offset = place.offset;
	event = fault_bpf_event(bpf, &attr, measured->thread, -1);
	if (event < 0)
		fault_fail("no probe in the measured program");
	bpf->common->thread = (uint64_t)measured->thread;
	return true;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct fault_bpf bpf = fault_bpf_load(BPF_PROG_TYPE_KPROBE);
	struct fault_measured measured = {0};
	struct fault fault = {0};
	uint64_t cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	bpf.common->size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	while (fault_wait(&fault)) {
		uint64_t until_ns;

		fault_become(cpu, 0);
		if (!fault_find(&measured) || !set_probe(&bpf, &measured))
			continue;
		fault_become(cpu, 1);
		until_ns = fault_now() + AROUND_NS;
		fault_worker_go(&bystander, until_ns);
		atomic_store(&bpf.common->armed, 1);
		fault_sleep(until_ns);
		if (!atomic_exchange(&bpf.common->armed, 0))
			fault_log(&fault, atomic_load(&bpf.common->start_ns),
				  atomic_load(&bpf.common->end_ns), cpu);
	}
	return 0;
}
