// SPDX-License-Identifier: MIT
#include "settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_DIRECTORY "/run"
#define LOG_PREFIX    "whylate-undo."

/* is_setting - whether a path is a kernel setting, and leads nowhere else */
static bool is_setting(const char *path)
{
	return (!strncmp(path, "/proc/sys/", 10) || !strncmp(path, "/proc/irq/", 10) ||
		!strncmp(path, "/sys/", 5)) &&
	       !strstr(path, "/../");
}

/* keep_marked - reduce a choice that shows all its values to the one between these marks */
static void keep_marked(char *value, char first, char last)
{
	char *begin = strchr(value, first);
	char *end = begin ? strchr(begin, last) : NULL;

	if (!end)
		return;
	*end = '\0';
	memmove(value, begin + 1, (size_t)(end - begin));
}

/* in_parentheses - whether a choice marks its value with parentheses instead of brackets */
static bool in_parentheses(const char *path)
{
	static const char preempt[] = "/sched/preempt";
	size_t length = strlen(path), tail = sizeof(preempt) - 1;

	return length > tail && !strcmp(path + length - tail, preempt);
}

/* read_setting - read the value that would set the file to what it is now */
static int read_setting(const char *path, char *value)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno;
	got = read(fd, value, SETTING_VALUE - 1);
	close(fd);
	if (got < 0)
		return errno;
	if (got == SETTING_VALUE - 1)
		return EFBIG;
	while (got > 0 && value[got - 1] == '\n')
		got--;
	value[got] = '\0';

	if (in_parentheses(path))
		keep_marked(value, '(', ')');
	else
		keep_marked(value, '[', ']');
	return 0;
}

static int write_setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char line[SETTING_VALUE + 1];
	int length, error = 0;

	if (fd < 0)
		return errno;
	/* The end of the line is what sets a value that is empty. */
	length = snprintf(line, sizeof(line), "%s\n", value);
	if (write(fd, line, (size_t)length) < 0)
		error = errno;
	close(fd);
	return error;
}

void settings_open(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->log_fd = -1;
}

/* open_log - create a log that is locked before it can be seen, so that nobody takes it for a stale
 * one */
static void open_log(struct settings *settings)
{
	char hidden[64];
	int fd;

	snprintf(hidden, sizeof(hidden), LOG_DIRECTORY "/.whylate-%ld", (long)getpid());
	snprintf(settings->log_path, sizeof(settings->log_path), LOG_DIRECTORY "/" LOG_PREFIX "%ld",
		 (long)getpid());
	unlink(hidden);
	fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || rename(hidden, settings->log_path) < 0) {
		unlink(hidden);
		close(fd);
		return;
	}
	settings->log_fd = fd;
}

/* log_setting - write to disk what is about to be changed, before it is changed.
 * False where there is a log and it cannot be written; without one the guardian's memory does. */
static bool log_setting(struct settings *settings, const struct setting *setting)
{
	if (settings->log_fd < 0 && settings->count == 0)
		open_log(settings);
	/* A whole record of fixed size in one write: a log is never cut inside one. */
	return settings->log_fd < 0 ||
	       write(settings->log_fd, setting, sizeof(*setting)) == (ssize_t)sizeof(*setting);
}

/* drop_last - drop the last record: what it would undo is as it was */
static void drop_last(struct settings *settings)
{
	off_t kept = (off_t)(--settings->count * sizeof(settings->undo[0]));

	/* A record that stays, should this fail, puts back what is as it was already. */
	if (settings->log_fd >= 0 && ftruncate(settings->log_fd, kept) == 0)
		lseek(settings->log_fd, kept, SEEK_SET);
}

/* reads - whether a setting has the value in the log */
static bool reads(const struct setting *setting)
{
	char now[SETTING_VALUE];

	return read_setting(setting->path, now) == 0 && strcmp(now, setting->value) == 0;
}

static bool put_back(const struct setting *setting)
{
	return write_setting(setting->path, setting->value) == 0 && reads(setting);
}

int settings_apply(struct settings *settings, const char *path, const char *value, char *text,
		   size_t room)
{
	struct setting *undo = &settings->undo[settings->count];
	char now[SETTING_VALUE];
	int error;

	if (!is_setting(path)) {
		snprintf(text, room, "%s is no setting under /proc/sys, /proc/irq or /sys", path);
		return EINVAL;
	}
	if (settings->count == MAX_SETTINGS) {
		snprintf(text, room, "more than %d settings", MAX_SETTINGS);
		return E2BIG;
	}
	memset(undo, 0, sizeof(*undo));
	snprintf(undo->path, sizeof(undo->path), "%s", path);
	error = read_setting(path, undo->value);
	if (error) {
		snprintf(text, room, "%s cannot be read: %s", path, strerror(error));
		return error;
	}
	if (!log_setting(settings, undo)) {
		snprintf(text, room, "%s cannot be written, so %s was not changed",
			 settings->log_path, path);
		return EIO;
	}
	snprintf(settings->applied[settings->count], SETTING_VALUE, "%s", value);
	settings->count++;

	error = write_setting(path, value);
	if (error)
		snprintf(text, room, "%s does not take \"%s\": %s", path, value, strerror(error));
	else if ((error = read_setting(path, now)) != 0 || strcmp(now, value) != 0) {
		snprintf(text, room, "%s was set to \"%s\" and reads \"%s\"", path, value,
			 error ? strerror(error) : now);
		error = EINVAL;
	}
	if (error) {
		write_setting(path, undo->value);
		/* One that takes no value at all could not be put back either. */
		if (reads(undo))
			drop_last(settings);
	}
	return error;
}

int settings_undo_last(struct settings *settings, const char *path, char *text, size_t room)
{
	const struct setting *undo = settings->undo + (settings->count ? settings->count - 1 : 0);

	if (settings->count == 0 || strcmp(undo->path, path) != 0) {
		snprintf(text, room, "%s is not what was changed last", path);
		return EINVAL;
	}
	if (!put_back(undo)) {
		snprintf(text, room, "%s could not be put back to \"%s\"", path, undo->value);
		return EIO;
	}
	drop_last(settings);
	return 0;
}

/* changed_again - whether a later setting is of the same file and so decides its value */
static bool changed_again(const struct settings *settings, size_t at)
{
	for (size_t later = at + 1; later < settings->count; later++)
		if (!strcmp(settings->undo[later].path, settings->undo[at].path))
			return true;
	return false;
}

/* count_undone - count the settings that are no more what they were set to; text names the first.
 * A daemon of the board's, or a load, sets them too: the run was not made with them. */
static size_t count_undone(const struct settings *settings, char *text, size_t room)
{
	char now[SETTING_VALUE];
	size_t undone = 0;

	for (size_t i = 0; i < settings->count; i++) {
		int error = read_setting(settings->undo[i].path, now);

		if (changed_again(settings, i) || (!error && !strcmp(now, settings->applied[i])))
			continue;
		if (undone++ == 0)
			snprintf(text, room,
				 "%s was set to \"%s\" and reads \"%s\" after the run: something "
				 "else sets it",
				 settings->undo[i].path, settings->applied[i],
				 error ? strerror(error) : now);
	}
	return undone;
}

size_t settings_restore(struct settings *settings, char *text, size_t room)
{
	/* All before any is put back: one may change what another reads. */
	size_t undone = count_undone(settings, text, room);
	size_t failed = 0;

	while (settings->count > 0) {
		const struct setting *undo = &settings->undo[--settings->count];

		if (put_back(undo))
			continue;
		if (failed++ == 0)
			snprintf(text, room, "%s could not be put back to \"%s\"", undo->path,
				 undo->value);
	}
	if (settings->log_fd >= 0) {
		/* What failed is worth another try by the next probe: the log stays then. */
		if (!failed)
			unlink(settings->log_path);
		close(settings->log_fd);
		settings->log_fd = -1;
	}
	return undone + failed;
}

/* recover_log - put back what one log holds, unless its owner lives */
static size_t recover_log(int directory, const char *name)
{
	struct setting setting;
	struct stat status;
	size_t restored = 0, failed = 0;
	off_t at;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return 0;
	/* Only what one of us wrote: anybody may be able to leave a file here. */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		at = lseek(fd, 0, SEEK_END) / (off_t)sizeof(setting);
		while (at-- > 0) {
			if (pread(fd, &setting, sizeof(setting), at * (off_t)sizeof(setting)) !=
			    (ssize_t)sizeof(setting))
				continue;
			setting.path[SETTING_PATH - 1] = '\0';
			setting.value[SETTING_VALUE - 1] = '\0';
			/* Older versions noted all choices of this one. */
			if (in_parentheses(setting.path))
				keep_marked(setting.value, '(', ')');
			if (is_setting(setting.path) && put_back(&setting))
				restored++;
			else
				failed++;
		}
		if (!failed)
			unlinkat(directory, name, 0);
	}
	close(fd);
	return restored;
}

size_t settings_recover(void)
{
	DIR *directory = opendir(LOG_DIRECTORY);
	const struct dirent *entry;
	size_t restored = 0;

	if (!directory)
		return 0;
	while ((entry = readdir(directory)) != NULL)
		if (!strncmp(entry->d_name, LOG_PREFIX, strlen(LOG_PREFIX)))
			restored += recover_log(dirfd(directory), entry->d_name);
	closedir(directory);
	return restored;
}
