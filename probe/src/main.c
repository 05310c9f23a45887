// SPDX-License-Identifier: MIT
/*
 * whylate-probe: the one program that runs on a board.
 *
 * It speaks the protocol of schema/wire.toml on standard input and output and leaves the board
 * as it found it when the input ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guardian/guardian.h"
#include "handover.h"
#include "session/session.h"
#include "wire/messages.h"

static int usage(FILE *out, int status)
{
	fprintf(
	    out,
	    "whylate-probe " WHYLATE_VERSION ", protocol %d\n"
	    "Started by whylate on the board under test; not for use by hand.\n"
	    "  --serial     standard input and output are a serial line to a host\n"
	    "  --plan FILE  carry out the commands in a file instead of those on standard input\n"
	    "  --handover   write what the host of a virtual board shares with it\n"
	    "  --version    print the version and the protocol's number\n",
	    WIRE_PROTOCOL);
	return status;
}

int main(int argc, char **argv)
{
	struct guardian guardian = {0};
	int error, status, input = STDIN_FILENO;
	bool is_serial = argc == 2 && !strcmp(argv[1], "--serial");
	bool is_plan = argc == 3 && !strcmp(argv[1], "--plan");

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("whylate-probe " WHYLATE_VERSION " protocol %d\n", WIRE_PROTOCOL);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--handover"))
		return handover_write(STDOUT_FILENO) != 0;
	if (argc > 1 && !is_plan && !is_serial)
		return usage(!strcmp(argv[1], "--help") ? stdout : stderr,
			     strcmp(argv[1], "--help") ? 2 : 0);
	if (!is_plan && !is_serial && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return usage(stderr, 2);
	if (is_plan) {
		input = open(argv[2], O_RDONLY | O_CLOEXEC);
		if (input < 0) {
			fprintf(stderr, "whylate-probe: %s: %s\n", argv[2], strerror(errno));
			return 1;
		}
	}

	signal(SIGPIPE, SIG_IGN);
	/* Ctrl-C at the host's terminal is the host's to handle: it sends stop. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	error = guardian_open(&guardian);
	if (error) {
		fprintf(stderr, "whylate-probe: no guardian process: %s\n", strerror(error));
		return 1;
	}
	status = session_run(&guardian, input, STDOUT_FILENO, is_plan);
	/* Hang up on the guardian, and be gone only when it has put everything back. */
	shutdown(guardian.socket, SHUT_RDWR);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return status;
}
