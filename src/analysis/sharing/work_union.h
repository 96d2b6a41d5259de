// The device work of several processes in order of its start, by a clock that they share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rlscope {

// A linear clock in integers, as rlscope/trace/clock.py has it.
struct ClockMap {
  uint64_t from_ticks = 0;
  uint64_t to = 0;
  uint64_t numerator = 1;
  uint64_t denominator = 1;

  uint64_t operator()(uint64_t ticks) const;
};

struct UnionInput {
  std::string path;
  uint64_t start_ticks;  // of the process's life, or of a window of it; work outside takes no time
  uint64_t end_ticks;
  ClockMap clock;                     // into the time that all inputs share
  std::map<uint32_t, size_t> places;  // of the process's devices in the result
};

// One more than the largest place of any device.
size_t places_of(const std::vector<UnionInput>& inputs);

// A piece of work, in the time that the clocks map to.
struct UnionWork {
  uint64_t start;
  uint64_t end;
  size_t place;
  size_t input;  // which process's it is
  bool communicates;
};

class WorkUnion {
 public:
  WorkUnion(const std::vector<UnionInput>& inputs, bool recovers);
  ~WorkUnion();
  WorkUnion(const WorkUnion&) = delete;
  WorkUnion& operator=(const WorkUnion&) = delete;

  // Goes to the next piece; false if there is none. Of several that start at once the earlier input's is first.
  bool next();
  const UnionWork& work() const { return work_; }

 private:
  class Process;
  static bool is_later(const std::unique_ptr<Process>& a, const std::unique_ptr<Process>& b);

  std::vector<std::unique_ptr<Process>> processes_;  // a heap, the earliest work in front
  UnionWork work_{};
};

}  // namespace rlscope
