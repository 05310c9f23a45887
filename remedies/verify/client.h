/* SPDX-License-Identifier: MIT */
/*
 * What surrounds a client: a small program of 2 or 3 threads whose assertions must hold in every
 * execution.
 *
 * A client defines CLIENT_THREADS, `struct client`, client_init(), client_thread() and
 * client_check(), and ends with CLIENT_MAIN. As C11 it is a main() that starts these threads, and
 * so what GenMC and other checkers take; with -DREMEDY_RELACY, as C++, Relacy runs it in many
 * executions of its memory model. ROUNDS repeats it where threads are real.
 */
#ifndef REMEDIES_CLIENT_H
#define REMEDIES_CLIENT_H

#ifdef REMEDY_RELACY

#include <cstring>
#include <relacy/relacy.hpp>

#define CLIENT_ASSERT(condition) RL_ASSERT(condition)

/* Arguments: random N, or bound N, or full N: the search, and the most executions. */
#define CLIENT_MAIN                                                                                \
	struct client_test : rl::test_suite<client_test, CLIENT_THREADS> {                         \
		struct client client;                                                              \
		void before()                                                                      \
		{                                                                                  \
			client_init(&client);                                                      \
		}                                                                                  \
		void thread(unsigned index)                                                        \
		{                                                                                  \
			client_thread(&client, index);                                             \
		}                                                                                  \
		void after()                                                                       \
		{                                                                                  \
			client_check(&client);                                                     \
		}                                                                                  \
	};                                                                                         \
	int main(int count, char **words)                                                          \
	{                                                                                          \
		rl::test_params params;                                                            \
		std::string search = count > 1 ? words[1] : "random";                              \
		params.search_type = search == "full"	 ? rl::fair_full_search_scheduler_type     \
				     : search == "bound" ? rl::fair_context_bound_scheduler_type   \
							 : rl::random_scheduler_type;              \
		params.context_bound = 2;                                                          \
		params.iteration_count = count > 2 ? (unsigned)atol(words[2]) : 100000;            \
		params.progress_output_period = 1000;                                              \
		return rl::simulate<client_test>(params) ? 0 : 1;                                  \
	}

#else

#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif
#define CLIENT_ASSERT(condition) assert(condition)
#define CLIENT_MAIN                                                                                \
	static struct client client;                                                               \
	static void *client_start(void *index)                                                     \
	{                                                                                          \
		client_thread(&client, (unsigned)(uintptr_t)index);                                \
		return NULL;                                                                       \
	}                                                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		for (unsigned round = 0; round < ROUNDS; round++) {                                \
			pthread_t threads[CLIENT_THREADS];                                         \
                                                                                                   \
			client_init(&client);                                                      \
			for (uintptr_t i = 0; i < CLIENT_THREADS; i++)                             \
				pthread_create(&threads[i], NULL, client_start, (void *)i);        \
			for (uintptr_t i = 0; i < CLIENT_THREADS; i++)                             \
				pthread_join(threads[i], NULL);                                    \
			client_check(&client);                                                     \
		}                                                                                  \
		return 0;                                                                          \
	}

#endif
#endif
