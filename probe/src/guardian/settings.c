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

#include "failure.h"
#include "small_file.h"
#include "threads.h"

#define LOG_DIRECTORY "/run"
#define LOG_PREFIX    "whylate-undo."

/* is_setting - whether a path is a kernel setting, and leads nowhere else; or a thread */
static bool is_setting(const char *path)
{
	if (is_thread(path))
		return true;
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
	int error = is_thread(path) ? thread_read(path, value)
				    : small_file_read(AT_FDCWD, path, value, SETTING_VALUE);
	size_t length;

	if (error)
		return error;
	length = strlen(value);
	if (length == SETTING_VALUE - 1)
		return EFBIG;
	while (length > 0 && value[length - 1] == '\n')
		value[--length] = '\0';
	if (in_parentheses(path))
		keep_marked(value, '(', ')');
	else
		keep_marked(value, '[', ']');
	return 0;
}

/* write_setting - write a value; the end of the line is what sets an empty one */
static int write_setting(const char *path, const char *value)
{
	char line[SETTING_VALUE + 1];

	if (is_thread(path))
		return thread_write(path, value);
	snprintf(line, sizeof(line), "%s\n", value);
	return small_file_write(AT_FDCWD, path, line);
}

void settings_open(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->log_fd = -1;
}

/* open_log - create a log that is locked before it is visible: no other probe finds it stale */
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

/* log_setting - write a setting to disk before it is changed; false where there is a log on disk
 * and it cannot be written */
static bool log_setting(struct settings *settings, const struct setting *setting)
{
	if (settings->log_fd < 0 && settings->count == 0)
		open_log(settings);
	/* One write of a record of fixed size: a log is never cut inside a record. */
	return settings->log_fd < 0 ||
	       write(settings->log_fd, setting, sizeof(*setting)) == (ssize_t)sizeof(*setting);
}

/* drop_last - drop the last record, whose setting has its former value */
static void drop_last(struct settings *settings)
{
	off_t kept = (off_t)(--settings->count * sizeof(settings->undo[0]));

	/* Should this fail, the record that stays restores a value that is there already. */
	if (settings->log_fd >= 0 && ftruncate(settings->log_fd, kept) == 0)
		lseek(settings->log_fd, kept, SEEK_SET);
}

/* reads - whether a setting has the value in the log */
static bool reads(const struct setting *setting)
{
	char now[SETTING_VALUE];

	return read_setting(setting->path, now) == 0 && strcmp(now, setting->value) == 0;
}

/* has_ended - whether a setting is of a thread that is gone, and needs no putting back */
static bool has_ended(const struct setting *setting)
{
	char now[SETTING_VALUE];

	return is_thread(setting->path) && read_setting(setting->path, now) == ESRCH;
}

static bool put_back(const struct setting *setting)
{
	if (has_ended(setting))
		return true;
	return write_setting(setting->path, setting->value) == 0 && reads(setting);
}

int settings_apply(struct settings *settings, const char *path, const char *value, char *text)
{
	struct setting *undo = &settings->undo[settings->count];
	char now[SETTING_VALUE];
	int error;

	if (!is_setting(path))
		return fail(text, EINVAL, "%s is no setting under /proc/sys, /proc/irq or /sys",
			    path);
	if (settings->count == MAX_SETTINGS)
		return fail(text, E2BIG, "more than %d settings", MAX_SETTINGS);
	memset(undo, 0, sizeof(*undo));
	snprintf(undo->path, sizeof(undo->path), "%s", path);
	error = read_setting(path, undo->value);
	if (error)
		return fail(text, error, "%s cannot be read: %s", path, strerror(error));
	if (!log_setting(settings, undo))
		return fail(text, EIO, "%s cannot be written, so %s was not changed",
			    settings->log_path, path);
	snprintf(settings->applied[settings->count], SETTING_VALUE, "%s", value);
	settings->count++;

	error = write_setting(path, value);
	if (error)
		fail(text, error, "%s does not take \"%s\": %s", path, value, strerror(error));
	else if ((error = read_setting(path, now)) != 0 || strcmp(now, value) != 0)
		error = fail(text, EINVAL, "%s was set to \"%s\" and reads \"%s\"", path, value,
			     error ? strerror(error) : now);
	if (error) {
		write_setting(path, undo->value);
		/* A setting that takes no value at all cannot be put back either. */
		if (reads(undo))
			drop_last(settings);
	}
	return error;
}

static int fail_put_back(const struct setting *setting, char *text)
{
	return fail(text, EIO, "%s could not be put back to \"%s\"", setting->path, setting->value);
}

int settings_undo_last(struct settings *settings, const char *path, char *text)
{
	const struct setting *undo = settings->undo + (settings->count ? settings->count - 1 : 0);

	if (settings->count == 0 || strcmp(undo->path, path) != 0)
		return fail(text, EINVAL, "%s is not what was changed last", path);
	if (!put_back(undo))
		return fail_put_back(undo, text);
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

/* check_applied - whether all settings still have the value they were set to; text names the first
 * that has not. A daemon of the board, or a load, may set them too. */
static int check_applied(const struct settings *settings, char *text)
{
	for (size_t i = 0; i < settings->count; i++) {
		char now[SETTING_VALUE];
		int error;

		if (has_ended(&settings->undo[i]))
			continue;
		error = read_setting(settings->undo[i].path, now);

		if (!changed_again(settings, i) && (error || strcmp(now, settings->applied[i])))
			return fail(
			    text, EIO,
			    "%s was set to \"%s\" and reads \"%s\" after the run: something "
			    "else sets it",
			    settings->undo[i].path, settings->applied[i],
			    error ? strerror(error) : now);
	}
	return 0;
}

int settings_restore(struct settings *settings, char *text)
{
	/* Before any is put back: one may change what another reads. */
	int error = check_applied(settings, text);
	bool failed = false;

	while (settings->count > 0) {
		const struct setting *undo = &settings->undo[--settings->count];

		if (put_back(undo))
			continue;
		if (!failed)
			error = fail_put_back(undo, text);
		failed = true;
	}
	if (settings->log_fd >= 0) {
		/* The log stays where a setting failed: the next probe tries again. */
		if (!failed)
			unlink(settings->log_path);
		close(settings->log_fd);
		settings->log_fd = -1;
	}
	return error;
}

/* recover_log - put back the settings of a log, unless its owner lives */
static size_t recover_log(int directory, const char *name)
{
	struct setting setting;
	struct stat status;
	size_t restored = 0, failed = 0;
	off_t at;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return 0;
	/* Only a probe's own log: any user may be able to create a file here. */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		at = lseek(fd, 0, SEEK_END) / (off_t)sizeof(setting);
		while (at-- > 0) {
			if (pread(fd, &setting, sizeof(setting), at * (off_t)sizeof(setting)) !=
			    (ssize_t)sizeof(setting))
				continue;
			setting.path[SETTING_PATH - 1] = '\0';
			setting.value[SETTING_VALUE - 1] = '\0';
			/* Older versions logged all choices of this setting. */
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
