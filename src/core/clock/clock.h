// The recorder's one clock: the time-stamp counter where kernel and processor vouch for it, else CLOCK_MONOTONIC.
#pragma once
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

#include "api.h"
#include "trace_format.h"

namespace rlscope {

// A tick is the counter shifted right: 12 ns at 2.6 GHz, about what a record costs. Most times between records then fit
// two bytes, and they add up without drift.
constexpr uint32_t kTscShift = 5;
constexpr uint32_t kMonotonicShift = 3;

extern RLSCOPE_API const ClockKind g_clock_kind;

inline uint32_t tick_shift() { return g_clock_kind == ClockKind::kTsc ? kTscShift : kMonotonicShift; }

inline uint64_t monotonic_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// For how long a thread of this process was on a CPU, by the kernel's number of it; 0 where it is gone. The number of the
// clock is made as pthread_getcpuclockid() makes it.
inline uint64_t thread_cpu_ns(uint64_t thread_id) {
  constexpr clockid_t kPerThread = 4, kScheduled = 2;
  timespec used = {0, 0};
  clock_gettime(~static_cast<clockid_t>(thread_id) * 8 | kPerThread | kScheduled, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

inline uint64_t now_ticks() {
  if (__builtin_expect(g_clock_kind == ClockKind::kTsc, 1)) return __rdtsc() >> kTscShift;
  return monotonic_ns() >> kMonotonicShift;
}

// The three clocks read together, as closely as a few attempts allow.
ClockPair read_clock_pair();

}  // namespace rlscope
