// What recording takes: the costs of events, as a calibration measured them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace rlscope {

// Overhead is less than a tick, so it is counted in parts of one; as the least, the expected and the most that it may be.
constexpr uint64_t kPartsPerTick = 256;
constexpr size_t kBounds = 3;
using OverheadParts = std::array<uint64_t, kBounds>;

// What recording one event takes, inside the recorded interval and outside, where it is time of what encloses the event.
struct EventCost {
  OverheadParts inside{};
  OverheadParts outside{};
};

// By "operation", "boundary" or "cuda", or more exactly "operation/NAME", "boundary/LIBRARY" or "cuda/CALL".
using CostTable = std::map<std::string, EventCost>;

}  // namespace rlscope
