/* SPDX-License-Identifier: MIT */
/*
 * Settings of the board that a fault needs changed, put back at its end however it ends: a
 * process of its own session waits for the fault to be gone, and writes the old values.
 */
#ifndef WHYLATE_FAULT_SETTING_H
#define WHYLATE_FAULT_SETTING_H

#include "fault_program.h"

#define FAULT_SETTINGS 4

struct fault_setting {
	const char *path;
	char old[64];
};

struct fault_settings {
	struct fault_setting all[FAULT_SETTINGS];
	int count;
	pid_t guardian;
	int alive;
};

/* fault_write - a line: printk_devkmsg takes no word without its end */
static inline bool fault_write(const char *path, const char *value)
{
	char line[sizeof(((struct fault_setting *)0)->old) + 1];
	int length = snprintf(line, sizeof(line), "%s\n", value);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, line, (size_t)length) == length;

	if (fd >= 0)
		close(fd);
	return written;
}

static inline void fault_keep(struct fault_settings *settings, const char *path)
{
	struct fault_setting *setting = &settings->all[settings->count++];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, setting->old, sizeof(setting->old) - 1) : -1;

	if (got < 0)
		fault_fail(path);
	close(fd);
	setting->old[got] = '\0';
	setting->old[strcspn(setting->old, "\n")] = '\0';
	setting->path = path;
}

/* fault_guard - from here on the settings that were kept are put back when we are gone */
static inline void fault_guard(struct fault_settings *settings)
{
	int ends[2];
	char none;

	if (pipe2(ends, O_CLOEXEC) != 0)
		fault_fail("no pipe");
	settings->guardian = fork();
	if (settings->guardian < 0)
		fault_fail("no process");
	if (settings->guardian) {
		close(ends[0]);
		settings->alive = ends[1];
		return;
	}
	close(ends[1]);
	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	while (read(ends[0], &none, 1) < 0 && errno == EINTR)
		;
	for (int i = settings->count - 1; i >= 0; i--)
		fault_write(settings->all[i].path, settings->all[i].old);
	_exit(0);
}

static inline void fault_unguard(struct fault_settings *settings)
{
	close(settings->alive);
	while (waitpid(settings->guardian, NULL, 0) < 0 && errno == EINTR)
		;
}

static inline void fault_set(const char *path, const char *value)
{
	if (!fault_write(path, value))
		fault_fail(path);
}

#endif
