// SPDX-License-Identifier: MIT
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Descriptors that may have come down from the probe; it opens far fewer. */
#define MOST_INHERITED 1024

/* above - a copy of a descriptor above 2, where it is not overwritten; or of /dev/null */
static int above(int fd, int null)
{
	return fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, 3);
}

_Noreturn void exec_command(char *const *argv, int failure, const int outputs[2], pid_t parent)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int report = above(failure, null), out = above(outputs[0], null),
	    err = above(outputs[1], null), error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2) {
		for (int fd = 3; fd < MOST_INHERITED; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		for (int signal_number = 1; signal_number < SIGRTMIN; signal_number++)
			signal(signal_number, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(argv[0], argv);
	}
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}

int exec_read_failure(int pipe)
{
	int error = 0;
	ssize_t got;

	/* A successful exec closes the pipe with nothing in it. */
	do
		got = read(pipe, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return error;
}

int exec_start(char *const *argv, const int outputs[2], pid_t *pid)
{
	pid_t parent = getpid();
	int failure[2], error;

	*pid = -1;
	if (pipe2(failure, O_CLOEXEC))
		return errno;
	*pid = fork();
	if (!*pid)
		exec_command(argv, failure[1], outputs, parent);
	error = *pid < 0 ? errno : 0;
	close(failure[1]);
	if (!error)
		error = exec_read_failure(failure[0]);
	close(failure[0]);
	return error;
}
