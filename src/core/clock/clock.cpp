// Chooses the clock once per process and pairs it with the system's clocks.
#include "clock.h"

#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace rlscope {
namespace {

bool processor_has_invariant_tsc() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8);
}

// The kernel watches the counter and leaves it as soon as it misbehaves: what it uses itself can be trusted.
bool kernel_uses_tsc() {
  int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[16] = {};
  ssize_t size = read(fd, name, sizeof name - 1);
  close(fd);
  return size >= 3 && std::strncmp(name, "tsc", 3) == 0;
}

}  // namespace

const ClockKind g_clock_kind =
    processor_has_invariant_tsc() && kernel_uses_tsc() ? ClockKind::kTsc : ClockKind::kMonotonic;

ClockPair read_clock_pair() {
  ClockPair best{};
  uint64_t best_gap = ~0ull;
  for (int attempt = 0; attempt < 5; attempt++) {
    uint64_t before = now_ticks();
    uint64_t monotonic = monotonic_ns();
    uint64_t after = now_ticks();
    uint64_t realtime = monotonic_ns(CLOCK_REALTIME);
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + (after - before) / 2, monotonic, realtime};
    }
  }
  return best;
}

}  // namespace rlscope
