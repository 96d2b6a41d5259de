/* Preloaded into a program: its time of day is five minutes ahead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*original)(clockid_t, struct timespec*);
  if (!original) *(void**)&original = dlsym(RTLD_NEXT, "clock_gettime");
  int status = original(clock, time);
  if (status == 0 && clock == CLOCK_REALTIME) time->tv_sec += 300;
  return status;
}
