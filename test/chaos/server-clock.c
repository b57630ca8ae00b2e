/*
 * Preloaded into a server (LD_PRELOAD): its wall clock goes ahead of the true one by as many milliseconds as the file
 * that SERVER_CLOCK names says, from one call to the next. The monotonic clock stays true, as it does when somebody
 * sets the time of a machine. libfaketime would do the same, but not in a Redis that brings its own malloc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *ahead_ms;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("SERVER_CLOCK");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *ahead_ms, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) ahead_ms = page;
  close(file);
}

static void add(struct timespec *time, int64_t ms) {
  int64_t ns = time->tv_nsec + ms % 1000 * 1000000;
  time->tv_sec += ms / 1000 + (ns < 0 ? -1 : ns / 1000000000);
  time->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, id, now);
  if (!failed && ahead_ms != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) add(now, *ahead_ms);
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (seconds != NULL) *seconds = exact.tv_sec;
  return exact.tv_sec;
}

/* The kernel waits by the true clock: without this a thread of MariaDB would sleep for the size of the step. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (wait == NULL) wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec at = *until;
  /* Times that small are those of the monotonic clock. */
  if (ahead_ms != NULL && at.tv_sec > 1000000000) add(&at, -*ahead_ms);
  return wait(cond, mutex, &at);
}
