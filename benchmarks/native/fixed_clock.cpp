// Stands in for src/core/clock/clock.cpp. A file of its own: the compiler knows no more of the clock than usual.
#include "clock.h"

uint64_t g_fixed_tsc = 0;

namespace rlscope {

const ClockKind g_clock_kind = ClockKind::kTsc;

ClockPair read_clock_pair() {
  uint64_t ticks = now_ticks();
  return {ticks, ticks, ticks};
}

}  // namespace rlscope
