// SPDX-License-Identifier: MIT
/*
 * nic - packets to and from another machine, at a stated rate, by the board's network interface
 *
 * Stresses what loopback leaves out: the driver, its interrupts, and NAPI behind them. The other
 * end is whylate's own (src/whylate/run/net_peer.py), which tells it by a line over a TCP
 * connection what to send. That connection stays: the other end reports there, several times a
 * second, how many bytes arrived at it, and where it falls silent the load fails. Datagrams, and
 * the first line of a connection, begin with a token that nobody else knows.
 *
 * What is late is not made up for beyond a tenth of a second: the rate falls, and the run reports
 * it. The bytes that arrived, here and there, are the load's work.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "device.h"
#include "kinds.h"
#include "sockets.h"
#include "workers.h"

#define TOKEN_BYTES   32u
#define MOST_BYTES    65536u
#define CONNECT_MS    3000
#define SILENCE_NS    (3 * (uint64_t)NS_PER_S)
#define TURN_NS	      NS_PER_MS
#define LATE_NS	      (100u * NS_PER_MS)
#define COUNT_NS      (200u * NS_PER_MS)
#define HELLO_NS      (200u * NS_PER_MS)
#define REPORT_BYTES  8u
#define BITS_A_BYTE   8u
#define READS_A_TURN  64
#define MOST_BITS_A_S 100000000000ull

enum { SENDER, RECEIVER, WATCHER, THREADS };
enum { HOST, PORT, TOKEN, PROTOCOL, IN_BITS, OUT_BITS, SIZE, ARGUMENTS };

struct stream {
	char *const *argv;
	struct sockaddr_in to;
	bool is_tcp;
	uint64_t in_bits_s, out_bits_s;
	size_t size;
	int control;
	int data;
	struct device device;
	_Atomic uint64_t received;
};

/* parse - read the arguments; false where the host sent others than it should */
static bool parse(struct stream *stream, char *const *argv)
{
	unsigned long port;
	size_t count = 0;

	while (argv && argv[count])
		count++;
	if (count != ARGUMENTS || strlen(argv[TOKEN]) != TOKEN_BYTES)
		return false;
	port = strtoul(argv[PORT], NULL, 10);
	stream->argv = argv;
	stream->is_tcp = !strcmp(argv[PROTOCOL], "tcp");
	stream->in_bits_s = strtoull(argv[IN_BITS], NULL, 10);
	stream->out_bits_s = strtoull(argv[OUT_BITS], NULL, 10);
	stream->size = strtoul(argv[SIZE], NULL, 10);
	stream->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return inet_pton(AF_INET, argv[HOST], &stream->to.sin_addr) == 1 && port - 1 < UINT16_MAX &&
	       stream->size >= TOKEN_BYTES && stream->size <= MOST_BYTES &&
	       stream->in_bits_s <= MOST_BITS_A_S && stream->out_bits_s <= MOST_BITS_A_S &&
	       (stream->in_bits_s || stream->out_bits_s);
}

/* say - send a line that begins with the token over a new connection; its socket, or -1 */
static int say(const struct stream *stream, const char *text)
{
	struct linger at_once = {.l_onoff = 1};
	char line[128];
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int length = snprintf(line, sizeof(line), "%s %s\n", stream->argv[TOKEN], text);

	if (fd < 0 || socket_connect(fd, &stream->to, CONNECT_MS))
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* It vanishes when it is closed, without waiting in TIME_WAIT. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
		return -1;
	return fd;
}

/* open_stream - both connections to the other end; 0, or -1 with errno */
static int open_stream(struct stream *stream)
{
	char text[96];

	snprintf(text, sizeof(text), "control %s %llu %zu", stream->is_tcp ? "tcp" : "udp",
		 (unsigned long long)stream->in_bits_s, stream->size);
	stream->control = say(stream, text);
	if (stream->control < 0)
		return -1;
	if (stream->is_tcp) {
		stream->data = say(stream, "data");
	} else {
		stream->data = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (stream->data >= 0 &&
		    connect(stream->data, (struct sockaddr *)&stream->to, sizeof(stream->to)))
			return -1;
	}
	return stream->data < 0 ? -1 : 0;
}

/* find_device - the interface that has our end's address */
static bool find_device(struct stream *stream, struct load_device *shown)
{
	struct sockaddr_in own = {0};
	socklen_t length = sizeof(own);
	struct ifaddrs *all = NULL;
	bool is_found = false;

	if (getsockname(stream->control, (struct sockaddr *)&own, &length) || getifaddrs(&all))
		return false;
	for (const struct ifaddrs *entry = all; entry && !is_found; entry = entry->ifa_next) {
		const struct sockaddr_in *address = (const void *)entry->ifa_addr;
		is_found = address && address->sin_family == AF_INET &&
			   address->sin_addr.s_addr == own.sin_addr.s_addr;
		if (is_found)
			device_of_interface(&stream->device, shown, entry->ifa_name);
	}
	freeifaddrs(all);
	return is_found;
}

/* send_turn - send what is due; false with errno where the connection broke */
static bool send_turn(const struct stream *stream, const char *bytes, uint64_t *sent, uint64_t due)
{
	while (*sent + stream->size <= due) {
		ssize_t went = send(stream->data, bytes, stream->size, MSG_NOSIGNAL);
		if (went < 0 && stream->is_tcp && errno != EINTR)
			return false;
		/* Whatever a datagram met with, it is merely lost. */
		*sent += went < 0 ? stream->size : (uint64_t)went;
	}
	return true;
}

/* send_packets - the sending thread: every millisecond what is due by then */
static void send_packets(const struct worker *worker)
{
	static char bytes[MOST_BYTES];
	const struct stream *stream = worker->shared;
	uint64_t bytes_s = stream->out_bits_s / BITS_A_BYTE, sent = 0, from_ns = clock_ns();

	memset(bytes, 0x5a, sizeof(bytes));
	memcpy(bytes, stream->argv[TOKEN], TOKEN_BYTES);
	while (stream->out_bits_s) {
		uint64_t now_ns = clock_ns();
		uint64_t due = (uint64_t)((double)(now_ns - from_ns) / NS_PER_S * (double)bytes_s);
		uint64_t most =
		    (uint64_t)((double)LATE_NS / NS_PER_S * (double)bytes_s) + stream->size;

		if (due > sent + most)
			sent = due - most;
		if (!send_turn(stream, bytes, &sent, due)) {
			load_fail(worker->context, "the connection to %s broke: %s",
				  stream->argv[HOST], strerror(errno));
			return;
		}
		clock_sleep_until(now_ns + TURN_NS);
	}
	for (;;)
		pause();
}

/* receive_packets - the receiving thread: it counts what arrived */
static void receive_packets(const struct worker *worker)
{
	static char bytes[MOST_BYTES];
	struct stream *stream = worker->shared;

	for (;;) {
		ssize_t got = recv(stream->data, bytes, sizeof(bytes), 0);
		if (got > 0) {
			atomic_fetch_add_explicit(&stream->received, (uint64_t)got,
						  memory_order_relaxed);
			load_count(worker->context, (uint64_t)got);
		} else if (stream->is_tcp && !(got < 0 && errno == EINTR)) {
			load_fail(worker->context, "the connection to %s broke: %s",
				  stream->argv[HOST], got ? strerror(errno) : "it was closed");
			return;
		} else if (got < 0 && errno != EINTR) {
			/* Nobody listens there any more: the watcher reports that. */
			clock_sleep_until(clock_ns() + TURN_NS);
		}
	}
}

struct report {
	unsigned char bytes[REPORT_BYTES];
	size_t got;
};

/* read_report - take what the other end reports; false where it closed the connection */
static bool read_report(struct load_context *context, const struct stream *stream,
			struct report *report)
{
	struct load_device *shown = stream->device.shown;
	uint64_t total = 0, before;
	ssize_t got = recv(stream->control, report->bytes + report->got, REPORT_BYTES - report->got,
			   MSG_DONTWAIT);

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	report->got += (size_t)got;
	if (report->got < REPORT_BYTES)
		return true;
	report->got = 0;
	for (size_t i = 0; i < REPORT_BYTES; i++)
		total |= (uint64_t)report->bytes[i] << (8 * i);
	before = atomic_load(&shown->counted[LOAD_DELIVERED]);
	if (total > before) {
		load_count(context, total - before);
		atomic_store(&shown->counted[LOAD_DELIVERED], total);
	}
	return true;
}

/* count - what the kernel and the load counted until now */
static void count(struct stream *stream)
{
	atomic_store(&stream->device.shown->counted[LOAD_RECEIVED],
		     atomic_load_explicit(&stream->received, memory_order_relaxed));
	device_count(&stream->device);
}

/* watch - the watching thread: the other end's reports, and what the kernel counts */
static void watch(const struct worker *worker)
{
	struct stream *stream = worker->shared;
	struct report report = {.got = 0};
	uint64_t heard_ns = clock_ns(), counted_ns = 0, greeted_ns = 0;

	for (;;) {
		uint64_t now_ns = clock_ns();
		if (socket_ready(stream->control, POLLIN, (int)(HELLO_NS / NS_PER_MS))) {
			if (!read_report(worker->context, stream, &report))
				break;
			heard_ns = now_ns;
		}
		if (now_ns - heard_ns > SILENCE_NS)
			break;
		/* So the other end, and an address translation on the way, know where we are. */
		if (!stream->is_tcp && now_ns - greeted_ns >= HELLO_NS) {
			send(stream->data, stream->argv[TOKEN], TOKEN_BYTES, MSG_NOSIGNAL);
			greeted_ns = now_ns;
		}
		if (now_ns - counted_ns >= COUNT_NS) {
			count(stream);
			counted_ns = now_ns;
		}
	}
	load_fail(worker->context, "the other end at %s is gone: it was ended, or the line is down",
		  stream->argv[HOST]);
}

static void work(const struct worker *worker)
{
	void (*const bodies[THREADS])(const struct worker *) = {
	    [SENDER] = send_packets, [RECEIVER] = receive_packets, [WATCHER] = watch};

	bodies[worker->index](worker);
}

void load_nic(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct stream stream = {.control = -1, .data = -1};

	if (!parse(&stream, context->argv)) {
		load_fail(context, "needs HOST PORT TOKEN udp|tcp, bits/s in and out, and a size");
		return;
	}
	if (open_stream(&stream)) {
		load_fail(context,
			  "cannot reach %s port %s: %s; is it the address of the other end as the "
			  "board sees it, and does a packet filter hold it up?",
			  stream.argv[HOST], stream.argv[PORT], strerror(errno));
		return;
	}
	if (!find_device(&stream, &context->slot->device)) {
		load_fail(context, "no network interface has the address that talks to %s",
			  stream.argv[HOST]);
		return;
	}
	workers_run(context, THREADS, work, &stream);
}
