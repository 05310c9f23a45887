// SPDX-License-Identifier: MIT
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

bool socket_ready(int fd, short events, int ms)
{
	struct pollfd waited = {.fd = fd, .events = events};

	if (poll(&waited, 1, ms) > 0)
		return true;
	errno = ETIMEDOUT;
	return false;
}

int socket_connect(int fd, const struct sockaddr_in *to, int ms)
{
	int error = 0;
	socklen_t length = sizeof(error);
	int flags = fcntl(fd, F_GETFL);

	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return -1;
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to))) {
		if (errno != EINPROGRESS || !socket_ready(fd, POLLOUT, ms))
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length))
			return -1;
		if (error) {
			errno = error;
			return -1;
		}
	}
	return fcntl(fd, F_SETFL, flags);
}
