// SPDX-License-Identifier: MIT
/*
 * net - a TCP stream, small TCP packets and small UDP packets over loopback
 *
 * Stresses the network's softirqs, which run after an interrupt or in ksoftirqd and hold off
 * what they interrupted: NET_RX with its budget of packets, socket locks, buffers allocated and
 * freed, timers of TCP, wakeups out of softirq. No driver and no cable take part.
 *
 * One thread sends and one receives. Datagrams may get lost where the receiver is too slow:
 * nobody waits for one. The sockets have ports that the kernel chose, are bound to 127.0.0.1, and
 * talk only to each other. Nothing is configured: where loopback is down, the load reports it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kinds.h"
#include "sockets.h"
#include "workers.h"

#define STREAM_BYTES   (16 * 1024)
#define STREAM_WRITES  16
#define SMALL_BYTES    64
#define SMALL_WRITES   64
#define DATAGRAM_BYTES 256
#define DATAGRAMS      64
/* What a socket may give before the others get their turn. */
#define READS_IN_A_ROW 32
#define ANSWER_MS      2000

enum { STREAM, SMALL, DATAGRAM, PAIRS };

struct pair {
	int sender;
	int receiver;
};

/* loopback_socket - a socket on 127.0.0.1 with a port of the kernel's choice, or -1 */
static int loopback_socket(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
	    .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)address, sizeof(*address)) ||
	    getsockname(fd, (struct sockaddr *)address, &length))
		return -1;
	return fd;
}

/*
 * accept_from - accept until it is our own sender that came, or -1
 *
 * Any process of the board can connect to a port on loopback.
 */
static int accept_from(int listener, const struct sockaddr_in *sender)
{
	while (socket_ready(listener, POLLIN, ANSWER_MS)) {
		struct sockaddr_in peer = {0};
		socklen_t length = sizeof(peer);
		int fd = accept4(listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
		if (fd >= 0 && peer.sin_port == sender->sin_port)
			return fd;
		if (fd >= 0)
			close(fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			return -1;
	}
	return -1;
}

/* open_tcp - a connection that vanishes when it is closed, without waiting in TIME_WAIT */
static int open_tcp(struct pair *pair, bool small_packets)
{
	struct sockaddr_in to;
	struct sockaddr_in from;
	struct linger at_once = {.l_onoff = 1};
	int on = small_packets;
	int listener = loopback_socket(SOCK_STREAM, &to);

	if (listener < 0 || listen(listener, 4))
		return -1;
	pair->sender = loopback_socket(SOCK_STREAM, &from);
	if (pair->sender < 0 || socket_connect(pair->sender, &to, ANSWER_MS))
		return -1;
	pair->receiver = accept_from(listener, &from);
	if (pair->receiver < 0)
		return -1;
	close(listener);
	setsockopt(pair->sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(pair->sender, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	setsockopt(pair->receiver, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	return 0;
}

/* open_udp - two sockets that take datagrams from each other alone */
static int open_udp(struct pair *pair)
{
	struct sockaddr_in from;
	struct sockaddr_in to;

	pair->sender = loopback_socket(SOCK_DGRAM, &from);
	pair->receiver = loopback_socket(SOCK_DGRAM, &to);
	if (pair->sender < 0 || pair->receiver < 0)
		return -1;
	if (connect(pair->sender, (struct sockaddr *)&to, sizeof(to)))
		return -1;
	return connect(pair->receiver, (struct sockaddr *)&from, sizeof(from));
}

/* send_all - a number of writes to a TCP socket; false with errno when it broke */
static bool send_all(int fd, const char *bytes, size_t length, int writes)
{
	for (int i = 0; i < writes; i++) {
		if (send(fd, bytes, length, MSG_NOSIGNAL) < 0 && errno != EINTR)
			return false;
	}
	return true;
}

/* send_packets - the sending thread: stream, small packets, datagrams, by turns */
static void send_packets(const struct worker *worker)
{
	static char bytes[STREAM_BYTES];
	const struct pair *pairs = worker->shared;

	memset(bytes, 0x5a, sizeof(bytes));
	for (;;) {
		if (!send_all(pairs[STREAM].sender, bytes, STREAM_BYTES, STREAM_WRITES) ||
		    !send_all(pairs[SMALL].sender, bytes, SMALL_BYTES, SMALL_WRITES)) {
			load_fail(worker->context, "cannot send over 127.0.0.1: %s",
				  strerror(errno));
			return;
		}
		/* Whatever a datagram met with, it is merely lost. */
		for (int i = 0; i < DATAGRAMS; i++)
			send(pairs[DATAGRAM].sender, bytes, DATAGRAM_BYTES, MSG_NOSIGNAL);
	}
}

/* receive_some - what one socket has at the moment; false when the connection broke */
static bool receive_some(struct load_context *context, int fd, bool is_stream)
{
	static char bytes[64 * 1024];

	for (int i = 0; i < READS_IN_A_ROW; i++) {
		ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got > 0) {
			load_count(context, (uint64_t)got);
			continue;
		}
		if (got == 0)
			return !is_stream;
		if (errno == EAGAIN)
			return true;
		/* A refused datagram is reported once, on whatever socket call comes next. */
		if (errno != EINTR && is_stream)
			return false;
	}
	return true;
}

/* receive_packets - the receiving thread: it counts what arrived, never what was sent */
static void receive_packets(const struct worker *worker)
{
	const struct pair *pairs = worker->shared;
	struct pollfd waited[PAIRS];

	for (int i = 0; i < PAIRS; i++)
		waited[i] = (struct pollfd){.fd = pairs[i].receiver, .events = POLLIN};
	for (;;) {
		if (poll(waited, PAIRS, -1) < 0 && errno != EINTR)
			break;
		for (int i = 0; i < PAIRS; i++) {
			if (waited[i].revents &&
			    !receive_some(worker->context, waited[i].fd, i != DATAGRAM)) {
				load_fail(worker->context, "a connection over 127.0.0.1 broke");
				return;
			}
		}
	}
	load_fail(worker->context, "cannot wait for packets: %s", strerror(errno));
}

/* send_or_receive - the sender is the first thread, the receiver the second */
static void send_or_receive(const struct worker *worker)
{
	if (worker->index == 0)
		send_packets(worker);
	else
		receive_packets(worker);
}

void load_net(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct pair pairs[PAIRS];

	if (open_tcp(&pairs[STREAM], false) || open_tcp(&pairs[SMALL], true) ||
	    open_udp(&pairs[DATAGRAM])) {
		const char *remedy = errno == EADDRNOTAVAIL || errno == ENETUNREACH
					 ? "; bring loopback up: ip link set lo up"
				     : errno == ETIMEDOUT ? "; does a packet filter hold it up?"
							  : "";
		load_fail(context, "cannot talk over 127.0.0.1: %s%s", strerror(errno), remedy);
		return;
	}
	workers_run(context, 2, send_or_receive, pairs);
}
