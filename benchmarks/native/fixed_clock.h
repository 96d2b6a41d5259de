// Included before every source of the guard: all clocks are one variable, so each run records the same times, and a busy
// machine, on which threads lack a core, records no more than an idle one.
#pragma once
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

extern uint64_t g_fixed_tsc;
inline uint64_t fixed_tsc() { return g_fixed_tsc; }

inline int fixed_clock_gettime(clockid_t, timespec* now) {
  uint64_t now_ns = g_fixed_tsc >> 5;  // kTscShift: a tick is a nanosecond
  *now = {static_cast<time_t>(now_ns / 1'000'000'000), static_cast<long>(now_ns % 1'000'000'000)};
  return 0;
}

#define __rdtsc fixed_tsc
#define clock_gettime fixed_clock_gettime
