// SPDX-License-Identifier: MIT
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Descriptors that may have come down from the probe; it opens far fewer. */
#define MOST_INHERITED 1024

_Noreturn void exec_command(char *const *argv, int failure, int output, pid_t parent)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int told = output < 0 ? null : output;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(told, 1) == 1 && dup2(told, 2) == 2) {
		for (int fd = 3; fd < MOST_INHERITED; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		for (int signal_number = 1; signal_number < SIGRTMIN; signal_number++)
			signal(signal_number, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(argv[0], argv);
	}
	int error = errno;
	while (write(failure, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}
