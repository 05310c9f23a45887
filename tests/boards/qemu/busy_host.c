/* Preloaded, does to QEMU what a busy host does to it rarely: takes the CPU from its threads for a
 * while where it matters. The main thread is late to take the lock after it woke up, and the
 * thread of the virtual CPUs is late to account for the instructions after one of them went idle
 * (which leaves the emulation by a long jump). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int wait_for(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
typedef void (*jump)(sigjmp_buf, int);

static __thread unsigned seed;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void lose_time(int limit_ns) {
  if (!seed)
    seed = (unsigned)now();
  for (long long end = now() + rand_r(&seed) % limit_ns; now() < end;)
    ;
}

int ppoll(struct pollfd *descriptors, nfds_t n, const struct timespec *timeout,
          const sigset_t *mask) {
  static wait_for *real;

  if (!real)
    real = (wait_for *)dlsym(RTLD_NEXT, "ppoll");
  int found = real(descriptors, n, timeout, mask);
  if (gettid() == getpid())
    lose_time(100000);
  return found;
}

int __ppoll_chk(struct pollfd *descriptors, nfds_t n, const struct timespec *timeout,
                const sigset_t *mask, size_t size) {
  (void)size;
  return ppoll(descriptors, n, timeout, mask);
}

void __longjmp_chk(sigjmp_buf target, int value) {
  static jump real;

  if (!real)
    real = (jump)dlsym(RTLD_NEXT, "__longjmp_chk");
  if (gettid() != getpid())
    lose_time(20000);
  real(target, value);
}
