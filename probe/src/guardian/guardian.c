// SPDX-License-Identifier: MIT
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "loads/tree.h"
#include "small_file.h"
#include "thread.h"
#include "tracefs/instance.h"
#include "priorities.h"
#include "settings.h"
#include "threads.h"

/* How long to wait for processes that cannot be killed. */
#define GIVE_UP_NS (20u * (uint64_t)NS_PER_S)
#define OOM_SCORE  "/proc/self/oom_score_adj"

enum request_kind {
	REQUEST_LOAD,
	REQUEST_SET,
	REQUEST_UNDO_LAST,
	REQUEST_TRACING,
	REQUEST_RESTORE
};

struct request {
	enum request_kind kind;
	uint32_t slot;
	uint32_t length; /* of text */
	char name[SETTING_PATH];
	char text[GUARDIAN_TEXT];
};

struct reply {
	int error;
	char text[FAILURE_TEXT];
};

struct state {
	int socket;
	int signals;
	struct load_slot *slots;
	struct settings settings;
	struct priorities priorities;
	pid_t pids[WIRE_MOST_LOAD_INSTANCES]; /* of the load in each slot, 0 where there is none */
	int home; /* the directory that the probe was started in, for commands */
	pid_t probe;
	bool tracing; /* the probe may have an instance of tracing */
	struct tree tree;
	bool tree_open; /* without /proc only direct children are known, and die by themselves */
};

/* ---------------------------------------------------------------- the guardian's side */

/* become_load - turn the new process into a load: SCHED_OTHER, and dead with the guardian */
static _Noreturn void become_load(struct state *state, const struct request *request,
				  const struct load_kind *kind, pid_t guardian)
{
	struct load_slot *slot = &state->slots[request->slot];
	struct load_context context = {.slot = slot};
	char *argv[GUARDIAN_ARGV + 1] = {NULL};
	char text[GUARDIAN_TEXT];
	char name[16];
	sigset_t none;
	size_t count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guardian)
		_exit(1);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	/* The probe may have inherited a real-time priority: a load never has one. */
	thread_schedule(SCHED_OTHER, 0);
	setpriority(PRIO_PROCESS, 0, 0);
	/* Where memory runs out, the loads end first and the guardian last. */
	small_file_write(AT_FDCWD, OOM_SCORE, "1000");
	if (state->home >= 0 && fchdir(state->home) == 0)
		close(state->home);
	close(state->socket);
	close(state->signals);
	if (state->settings.log_fd >= 0)
		close(state->settings.log_fd);
	snprintf(name, sizeof(name), "whylate-%s", kind->name);
	prctl(PR_SET_NAME, name);

	memcpy(text, request->text, sizeof(text));
	for (size_t at = 0; at < request->length && count < GUARDIAN_ARGV;
	     at += strlen(text + at) + 1)
		argv[count++] = text + at;
	context.argv = argv;

	atomic_store(&slot->state, LOAD_RUNNING);
	kind->run(&context);
	if (atomic_load(&slot->state) == LOAD_RUNNING)
		load_fail(&context, "the load ended by itself");
	_exit(1);
}

static int start_load(struct state *state, const struct request *request, char *text)
{
	const struct load_kind *kind = load_find(request->name);
	struct load_slot *slot;
	pid_t guardian = getpid(), child;

	if (!kind)
		return fail(text, EINVAL, "unknown load \"%s\"", request->name);
	if (request->slot >= WIRE_MOST_LOAD_INSTANCES)
		return fail(text, E2BIG, "more than %u loads", WIRE_MOST_LOAD_INSTANCES);
	slot = &state->slots[request->slot];
	memset(slot->message, 0, sizeof(slot->message));
	memset(&slot->device, 0, sizeof(slot->device));
	atomic_store(&slot->work, 0);
	atomic_store(&slot->state, LOAD_IDLE);
	child = fork();
	if (child == 0)
		become_load(state, request, kind, guardian);
	if (child < 0)
		return fail(text, errno, "cannot start the load: %s", strerror(errno));
	setpgid(child, child);
	state->pids[request->slot] = child;
	return 0;
}

/* note_death - mark a load that ended without a reason as failed */
static void note_death(struct state *state, pid_t pid, int status)
{
	for (size_t i = 0; i < WIRE_MOST_LOAD_INSTANCES; i++) {
		struct load_slot *slot = &state->slots[i];
		int load_state = atomic_load(&slot->state);

		if (state->pids[i] != pid)
			continue;
		state->pids[i] = 0;
		if (load_state != LOAD_IDLE && load_state != LOAD_RUNNING)
			return;
		if (WIFSIGNALED(status))
			snprintf(slot->message, sizeof(slot->message), "killed by signal %d",
				 WTERMSIG(status));
		else
			snprintf(slot->message, sizeof(slot->message), "ended with status %d",
				 WEXITSTATUS(status));
		atomic_store(&slot->state, LOAD_FAILED);
		return;
	}
}

/* end_descendants - kill all descendants, in whatever session; false where some did not end */
static bool end_descendants(struct state *state)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	uint64_t give_up_ns = clock_ns() + GIVE_UP_NS;

	while (clock_ns() < give_up_ns) {
		pid_t reaped = waitpid(-1, NULL, WNOHANG);

		if (reaped > 0)
			continue;
		if (reaped < 0 && errno == ECHILD)
			return true;
		for (size_t i = 0; i < WIRE_MOST_LOAD_INSTANCES; i++)
			if (state->pids[i])
				kill(-state->pids[i], SIGKILL);
		/* A process may fork before it is killed: repeat until there is none. */
		if (state->tree_open)
			tree_kill(&state->tree, getpid());
		nanosleep(&pause, NULL);
	}
	return false;
}

/* set - change a setting of the board, or the priority of threads */
static int set(struct state *state, const char *path, const char *value, char *text)
{
	const char *name = threads_name(path);

	if (name)
		return priorities_apply(&state->priorities, &state->settings, name, value, text);
	/* A thread by its number is the log's alone. */
	if (is_thread(path))
		return fail(text, EINVAL, "%s: name threads by priority:NAME", path);
	if (state->priorities.count && threads_need(path))
		return fail(text, EPERM,
			    "%s: threads have a real-time priority by now: set it before these",
			    path);
	return settings_apply(&state->settings, path, value, text);
}

static int restore(struct state *state, char *text)
{
	char reason[FAILURE_TEXT] = "";
	int checked = priorities_check(&state->priorities, reason);
	int error = settings_restore(&state->settings, text);

	if (!error && checked)
		error = fail(text, checked, "%s", reason);

	/* Last: a load may be in a system call that is slow to be killed. */
	if (!end_descendants(state) && !error)
		error = fail(text, EIO, "processes of the loads could not be ended");
	memset(state->pids, 0, sizeof(state->pids));
	return error;
}

static void answer(struct state *state, const struct request *request)
{
	struct reply reply = {0};

	switch (request->kind) {
	case REQUEST_LOAD:
		reply.error = start_load(state, request, reply.text);
		break;
	case REQUEST_SET:
		reply.error = set(state, request->name, request->text, reply.text);
		break;
	case REQUEST_UNDO_LAST:
		reply.error = settings_undo_last(&state->settings, request->name, reply.text);
		break;
	case REQUEST_TRACING:
		state->tracing = true;
		break;
	case REQUEST_RESTORE:
		reply.error = restore(state, reply.text);
		break;
	}
	send(state->socket, &reply, sizeof(reply), MSG_NOSIGNAL);
}

static void reap(struct state *state)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int status;

	while (read(state->signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		note_death(state, pid, status);
}

/* detach - leave the probe's session and signals: nothing that ends the probe ends its guardian */
static void detach(struct state *state)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGPIPE,
				      SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t children;
	int null = open("/dev/null", O_RDWR);

	setsid();
	prctl(PR_SET_NAME, "wl-guardian");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	state->signals = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);

	/* The host sees the end of the probe's output only when no process holds it open. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	state->home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (chdir("/") < 0)
		(void)0; /* it only keeps a mount busy */
	setpriority(PRIO_PROCESS, 0, -10);
	small_file_write(AT_FDCWD, OOM_SCORE, "-1000");
}

static _Noreturn void guard(struct state *state)
{
	struct request request;
	char text[FAILURE_TEXT];

	for (;;) {
		struct pollfd fds[2] = {{.fd = state->socket, .events = POLLIN},
					{.fd = state->signals, .events = POLLIN}};
		ssize_t got;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			reap(state);
		if (!fds[0].revents)
			continue;
		got = recv(state->socket, &request, sizeof(request), 0);
		if (got == (ssize_t)sizeof(request))
			answer(state, &request);
		else if (got >= 0 || errno != EINTR)
			break; /* the probe is gone */
	}
	restore(state, text);
	/* Otherwise the kernel would go on recording into it. */
	if (state->tracing)
		instance_sweep(state->probe);
	_exit(0);
}

/* ---------------------------------------------------------------- the probe's side */

int guardian_open(struct guardian *guardian)
{
	struct state state = {.probe = getpid()};
	int sockets[2];
	pid_t child;

	guardian->recovered = settings_recover();
	guardian->slots = mmap(NULL, WIRE_MOST_LOAD_INSTANCES * sizeof(*guardian->slots),
			       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guardian->slots == MAP_FAILED)
		return errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return errno;
	child = fork();
	if (child < 0)
		return errno;
	if (child == 0) {
		close(sockets[0]);
		state.socket = sockets[1];
		state.slots = guardian->slots;
		settings_open(&state.settings);
		state.tree_open = tree_open(&state.tree);
		detach(&state);
		guard(&state);
	}
	close(sockets[1]);
	guardian->socket = sockets[0];
	return 0;
}

/* ask - send a request and wait for its reply */
static int ask(struct guardian *guardian, const struct request *request, char *text)
{
	struct reply reply;
	ssize_t got;

	if (send(guardian->socket, request, sizeof(*request), MSG_NOSIGNAL) < 0)
		goto gone;
	do {
		got = recv(guardian->socket, &reply, sizeof(reply), 0);
	} while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(reply))
		goto gone;
	memcpy(text, reply.text, FAILURE_TEXT);
	return reply.error;

gone:
	return fail(text, EPIPE,
		    "the guardian process is gone: settings and loads of this run may remain until "
		    "the next run on this board");
}

int guardian_load(struct guardian *guardian, size_t slot, const char *kind, const char *argv,
		  size_t argv_length, char *text)
{
	struct request request = {.kind = REQUEST_LOAD, .slot = (uint32_t)slot};

	if (argv_length > sizeof(request.text))
		return fail(text, E2BIG, "the command is longer than %zu bytes",
			    sizeof(request.text));
	snprintf(request.name, sizeof(request.name), "%s", kind);
	if (argv_length)
		memcpy(request.text, argv, argv_length);
	request.length = (uint32_t)argv_length;
	return ask(guardian, &request, text);
}

int guardian_set(struct guardian *guardian, const char *path, const char *value, char *text)
{
	struct request request = {.kind = REQUEST_SET};

	if (strlen(path) >= sizeof(request.name) || strlen(value) >= SETTING_VALUE)
		return fail(text, E2BIG, "the setting's path or value is too long");
	snprintf(request.name, sizeof(request.name), "%s", path);
	snprintf(request.text, sizeof(request.text), "%s", value);
	return ask(guardian, &request, text);
}

int guardian_undo_last(struct guardian *guardian, const char *path, char *text)
{
	struct request request = {.kind = REQUEST_UNDO_LAST};

	snprintf(request.name, sizeof(request.name), "%s", path);
	return ask(guardian, &request, text);
}

int guardian_tracing(struct guardian *guardian, char *text)
{
	struct request request = {.kind = REQUEST_TRACING};

	return ask(guardian, &request, text);
}

int guardian_restore(struct guardian *guardian, char *text)
{
	struct request request = {.kind = REQUEST_RESTORE};

	return ask(guardian, &request, text);
}
