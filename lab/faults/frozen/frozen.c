// SPDX-License-Identifier: MIT
/*
 * The measured process is in a control group that is frozen for size_us, as containers are paused.
 * Its own group has it back at the end.
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include "fault_beside.h"
#include "fault_setting.h"

#define ABOVE 96

struct group {
	/* The directory of all, that of ours, and the file in it by which it is frozen. */
	char all[64], ours[80], freeze[112];
	char former[512];
	pid_t process;
};

/* open_group - in a mount that only we see */
static void open_group(struct group *group)
{
	snprintf(group->all, sizeof(group->all), "/run/%.12s", program_invocation_short_name);
	snprintf(group->ours, sizeof(group->ours), "%s/%.12s", group->all,
		 program_invocation_short_name);
	snprintf(group->freeze, sizeof(group->freeze), "%s/cgroup.freeze", group->ours);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		fault_fail("no mounts of our own");
	if ((mkdir(group->all, 0700) != 0 && errno != EEXIST) ||
	    mount("none", group->all, "cgroup2", 0, NULL) != 0)
		fault_fail("no control groups");
	if (mkdir(group->ours, 0700) != 0 && errno != EEXIST)
		fault_fail(group->ours);
}

/* put - a process into a group, its directory given */
static bool put(const char *directory, pid_t process)
{
	char path[640], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	snprintf(text, sizeof(text), "%d", process);
	return fault_write(path, text);
}

/* take - a process into our group; where it was is kept */
static bool take(struct group *group, pid_t process)
{
	char path[40], line[256];
	bool known = false;
	FILE *groups;

	if (group->process == process)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", process);
	groups = fopen(path, "re");
	while (groups && fgets(line, sizeof(line), groups)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		snprintf(group->former, sizeof(group->former), "%s%s", group->all, line + 3);
		known = true;
	}
	if (groups)
		fclose(groups);
	if (!known || !put(group->ours, process))
		return false;
	group->process = process;
	return true;
}

static void close_group(struct group *group)
{
	fault_write(group->freeze, "0");
	if (group->process)
		put(group->former, group->process);
	rmdir(group->ours);
	umount(group->all);
	rmdir(group->all);
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct fault_measured measured = {0};
	struct group group = {0};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	bystander.cpu = cpu;
	open_group(&group);
	fault_worker_start(&bystander);
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_become(cpu, 0);
		if (!fault_find(&measured) || !take(&group, measured.process))
			continue;
		fault_become(cpu, ABOVE);
		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		if (!fault_write(group.freeze, "1"))
			fault_fail(group.freeze);
		fault_sleep(start_ns + size_ns);
		fault_write(group.freeze, "0");
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	close_group(&group);
	return 0;
}
