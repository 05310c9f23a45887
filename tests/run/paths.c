// SPDX-License-Identifier: MIT
/*
 * A function with two callers: through one of them it takes long, through the other it does not.
 *
 *	paths COUNT PAUSE_US EACH	calls it so often, with a pause between, each EACH-th time
 * for long
 */
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noipa))
#define SHORT	 2000
#define LONG	 (500 * SHORT)

static volatile int sink;

static NOINLINE void work(int count)
{
	for (int i = 0; i < count; i++)
		sink = i;
}

/* What is done after a call keeps it from being a jump. */
static NOINLINE void takes_long(void)
{
	work(LONG);
	sink++;
}

static NOINLINE void takes_no_time(void)
{
	work(SHORT);
	sink++;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 0, each = argc > 3 ? atoi(argv[3]) : 1;
	struct timespec pause = {.tv_nsec = argc > 3 ? 1000 * atol(argv[2]) : 0};

	for (int i = 0; i < count; i++) {
		if (i % each == 0)
			takes_long();
		else
			takes_no_time();
		if (pause.tv_nsec)
			nanosleep(&pause, NULL);
	}
	return 0;
}
