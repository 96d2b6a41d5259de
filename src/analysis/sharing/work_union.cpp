// Merges several processes' device work by one clock.
#include "work_union.h"

#include <algorithm>
#include <tuple>

#include "device_reader.h"

namespace rlscope {

uint64_t ClockMap::operator()(uint64_t ticks) const {
  using Wide = __int128;
  Wide scaled = (Wide{ticks} - from_ticks) * numerator + denominator / 2;
  Wide result = Wide{to} + (scaled >= 0 ? scaled / denominator : -((denominator - 1 - scaled) / denominator));
  return static_cast<uint64_t>(std::clamp<Wide>(result, 0, UINT64_MAX));
}

size_t places_of(const std::vector<UnionInput>& inputs) {
  size_t places = 0;
  for (const UnionInput& input : inputs) {
    for (const auto& [device, place] : input.places) places = std::max(places, place + 1);
  }
  return places;
}

// One process's device work by the shared clock.
class WorkUnion::Process {
 public:
  Process(const UnionInput& input, size_t number, bool recovers)
      : input_(input), file_(input.path, recovers), records_(from(file_, input.start_ticks)) {
    work_.input = number;
  }

  // Goes to the next piece of work on a device that has a place; false if there is none.
  bool next() {
    while (records_.has_next()) {
      WorkRecord record = records_.take();
      auto place = input_.places.find(record.device);
      if (!is_device_work(record.work) || place == input_.places.end()) continue;
      work_.place = place->second;
      work_.start = time(record.start_ticks);
      work_.end = time(record.end_ticks);
      work_.communicates = record.communicates;
      return true;
    }
    return false;
  }
  const UnionWork& work() const { return work_; }

 private:
  // What begins with the process has all of its work, also what ran before.
  static TraceFile& from(TraceFile& file, uint64_t start_ticks) {
    if (start_ticks > file.header().start_ticks) file.start_at(start_ticks);
    return file;
  }
  uint64_t time(uint64_t ticks) const {
    return input_.clock(std::min(std::max(ticks, input_.start_ticks), input_.end_ticks));
  }

  const UnionInput& input_;
  TraceFile file_;
  DeviceMerge records_;
  UnionWork work_{};
};

WorkUnion::WorkUnion(const std::vector<UnionInput>& inputs, bool recovers) {
  for (size_t i = 0; i < inputs.size(); i++) {
    auto process = std::make_unique<Process>(inputs[i], i, recovers);
    if (process->next()) processes_.push_back(std::move(process));
  }
  std::make_heap(processes_.begin(), processes_.end(), is_later);
}

WorkUnion::~WorkUnion() = default;

bool WorkUnion::is_later(const std::unique_ptr<Process>& a, const std::unique_ptr<Process>& b) {
  return std::tie(a->work().start, a->work().input) > std::tie(b->work().start, b->work().input);
}

bool WorkUnion::next() {
  if (processes_.empty()) return false;
  std::pop_heap(processes_.begin(), processes_.end(), is_later);
  Process& earliest = *processes_.back();
  work_ = earliest.work();
  if (earliest.next()) {
    std::push_heap(processes_.begin(), processes_.end(), is_later);
  } else {
    processes_.pop_back();
  }
  return true;
}

}  // namespace rlscope
