/* SPDX-License-Identifier: MIT */
/* Send 16 MiB through a pair of sockets: with small buffers the two threads take far more turns. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[65536];

int main(void)
{
	int pair[2];
	pid_t reader;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	reader = fork();
	if (reader < 0)
		return 1;
	if (!reader) {
		close(pair[0]);
		while (read(pair[1], block, sizeof(block)) > 0)
			;
		_exit(0);
	}
	close(pair[1]);
	for (int i = 0; i < 256; i++) {
		for (size_t left = sizeof(block); left;) {
			ssize_t written = write(pair[0], block, left);

			if (written <= 0)
				return 1;
			left -= (size_t)written;
		}
	}
	close(pair[0]);
	return waitpid(reader, NULL, 0) != reader;
}
