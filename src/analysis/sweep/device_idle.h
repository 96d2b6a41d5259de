// What processes do while a device that they use does nothing: at each instant one of them says what it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sweep_result.h"
#include "work_union.h"

namespace rlscope {

struct IdleSpan {
  uint64_t start;
  uint64_t end;
};

// A process that uses devices, and the part of its life in which it speaks for them.
struct IdleUser {
  UnionInput input;
  uint64_t start_ticks;
  uint64_t end_ticks;
  std::vector<IdleSpan> tails;  // of its samples, in ticks; in order, and one ends before the next begins
};

// Idle time of places, and what the labels of its rows lie in.
struct IdleOfPlaces {
  std::vector<SweptPlaceIdle> rows;
  std::set<std::string> labels;
};

// The time in which a place works for nobody, within the span of the place in the time that the clocks map to; by place. Of
// its users that speak, the one is taken that is in an operation, before one in none; that works, before one that is
// blocked; that is given first.
IdleOfPlaces device_idle(const std::vector<IdleUser>& users, const std::vector<IdleSpan>& spans, bool recovers);

}  // namespace rlscope
