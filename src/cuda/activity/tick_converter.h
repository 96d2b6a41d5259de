// From CUPTI's nanoseconds to our ticks.
#pragma once
#include <cstdint>
#include <deque>

#include "clock.h"

namespace rlscope::cuda {

// CUPTI asks us for the time and gets CLOCK_MONOTONIC. Pairs of both clocks are read at every flush; a time between two
// of them is interpolated, so that a kernel that ran long ago is converted with the clocks' rate of then.
class TickConverter {
 public:
  void add(const ClockPair& pair) {
    // Two pairs within microseconds say little about the rate.
    size_t count = pairs_.size();
    if (count >= 2 && pair.monotonic_ns - pairs_[count - 2].monotonic_ns < kShortest_ns) pairs_.pop_back();
    pairs_.push_back(pair);
    if (pairs_.size() > kMostPairs) pairs_.pop_front();
  }

  uint64_t ticks(uint64_t monotonic_ns) const {
    if (g_clock_kind == ClockKind::kMonotonic) return monotonic_ns >> kMonotonicShift;
    size_t last = pairs_.size() - 1;
    while (last > 1 && pairs_[last - 1].monotonic_ns > monotonic_ns) last--;
    const ClockPair& from = pairs_[last - 1];
    const ClockPair& to = pairs_[last];
    double rate = static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.monotonic_ns - from.monotonic_ns);
    auto offset_ns = static_cast<double>(static_cast<int64_t>(monotonic_ns - from.monotonic_ns));
    return from.ticks + static_cast<uint64_t>(static_cast<int64_t>(offset_ns * rate));
  }

  void clear() { pairs_.clear(); }

 private:
  static constexpr uint64_t kShortest_ns = 10'000'000;
  static constexpr size_t kMostPairs = 4096;  // more than an hour

  std::deque<ClockPair> pairs_;  // at least two when ticks() is called
};

}  // namespace rlscope::cuda
