// SPDX-License-Identifier: MIT
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With 64-bit time, 32-bit boards have no call of the old name. */
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

int channel_open(struct channel *channel, enum channel_kind kind, _Atomic uint32_t *word)
{
	int ends[2] = {-1, -1};
	int error = 0;

	switch (kind) {
	case BY_PIPE:
		error = pipe2(ends, O_CLOEXEC);
		break;
	case BY_SOCKETPAIR:
		error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
		break;
	case BY_EVENTFD:
		ends[0] = ends[1] = eventfd(0, EFD_CLOEXEC);
		error = ends[0] < 0 ? -1 : 0;
		break;
	default:
		atomic_store(word, 0);
	}
	*channel = (struct channel){.kind = kind, .in = ends[0], .out = ends[1], .word = word};
	return error ? errno : 0;
}

void channel_close(struct channel *channel)
{
	if (channel->in >= 0)
		close(channel->in);
	if (channel->out >= 0 && channel->out != channel->in)
		close(channel->out);
	channel->in = channel->out = -1;
}

/* Never FUTEX_PRIVATE: the tasks may be processes. */
static long futex(_Atomic uint32_t *word, int what, uint32_t value)
{
	return syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static uint8_t wait_word(_Atomic uint32_t *word)
{
	uint32_t token;

	/* Call first: there is one system call whether the token is there or not. */
	do
		futex(word, FUTEX_WAIT, 0);
	while (!(token = atomic_exchange_explicit(word, 0, memory_order_acquire)));
	return (uint8_t)token;
}

bool channel_pass(const struct channel *channel, uint8_t token)
{
	uint64_t value = token;

	if (channel->kind == BY_FUTEX) {
		atomic_store_explicit(channel->word, token, memory_order_release);
		return futex(channel->word, FUTEX_WAKE, 1) >= 0;
	}
	if (channel->kind == BY_EVENTFD)
		return write(channel->out, &value, sizeof(value)) == (ssize_t)sizeof(value);
	return write(channel->out, &token, 1) == 1;
}

uint8_t channel_wait(const struct channel *channel)
{
	uint64_t value = 0;
	uint8_t token = 0;
	ssize_t got;

	if (channel->kind == BY_FUTEX)
		return wait_word(channel->word);
	do {
		if (channel->kind == BY_EVENTFD) {
			got = read(channel->in, &value, sizeof(value));
			token = (uint8_t)value;
		} else {
			got = read(channel->in, &token, 1);
		}
	} while (got < 0 && errno == EINTR);
	return got > 0 ? token : 0;
}
