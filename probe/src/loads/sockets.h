// SPDX-License-Identifier: MIT
/* Sockets that nobody can hold up for minutes. */
#ifndef WHYLATE_LOAD_SOCKETS_H
#define WHYLATE_LOAD_SOCKETS_H

#include <netinet/in.h>
#include <stdbool.h>

/* socket_ready - wait for a socket; false with errno when nothing comes within that time */
bool socket_ready(int fd, short events, int ms);

/* socket_connect - connect, though a packet filter holds it up; 0, or -1 with errno */
int socket_connect(int fd, const struct sockaddr_in *to, int ms);

#endif
