#include "device_union.h"

#include <algorithm>
#include <memory>

#include "device_reader.h"

namespace rlscope {
namespace {

// One process's device work by the shared clock.
class Process {
 public:
  Process(const UnionInput& input, bool recovers)
      : input_(input), file_(input.path, recovers), records_(file_) {
    find_next();
  }

  bool has_next() const { return has_next_; }
  uint64_t start() const { return start_; }
  uint64_t end() const { return end_; }
  size_t place() const { return place_; }

  void find_next() {
    has_next_ = false;
    while (records_.has_next() && !has_next_) {
      WorkRecord record = records_.take();
      auto place = input_.places.find(record.device);
      has_next_ = is_device_work(record.work) && place != input_.places.end();
      if (!has_next_) continue;
      place_ = place->second;
      start_ = time(record.start_ticks);
      end_ = time(record.end_ticks);
    }
  }

 private:
  uint64_t time(uint64_t ticks) const {
    return input_.clock(std::min(std::max(ticks, input_.start_ticks), input_.end_ticks));
  }

  const UnionInput& input_;
  TraceFile file_;
  DeviceMerge records_;
  bool has_next_ = false;
  uint64_t start_ = 0;
  uint64_t end_ = 0;
  size_t place_ = 0;
};

bool is_later(const std::unique_ptr<Process>& a, const std::unique_ptr<Process>& b) { return a->start() > b->start(); }

}  // namespace

uint64_t ClockMap::operator()(uint64_t ticks) const {
  using Wide = __int128;
  Wide scaled = (Wide{ticks} - from_ticks) * numerator + denominator / 2;
  Wide result = Wide{to} + (scaled >= 0 ? scaled / denominator : -((denominator - 1 - scaled) / denominator));
  return static_cast<uint64_t>(std::clamp<Wide>(result, 0, UINT64_MAX));
}

// Work comes in order of its start, so what a device has been seen busy until is all that is to be known of the past.
std::vector<uint64_t> busy_union(const std::vector<UnionInput>& inputs, size_t places, bool recovers) {
  std::vector<std::unique_ptr<Process>> processes;  // a heap, the earliest work in front
  for (const UnionInput& input : inputs) {
    auto process = std::make_unique<Process>(input, recovers);
    if (process->has_next()) processes.push_back(std::move(process));
  }
  std::make_heap(processes.begin(), processes.end(), is_later);
  std::vector<uint64_t> busy(places);
  std::vector<uint64_t> busy_until(places);
  while (!processes.empty()) {
    std::pop_heap(processes.begin(), processes.end(), is_later);
    Process& next = *processes.back();
    uint64_t& until = busy_until[next.place()];
    if (next.end() > until) {
      busy[next.place()] += next.end() - std::max(until, next.start());
      until = next.end();
    }
    next.find_next();
    if (next.has_next()) {
      std::push_heap(processes.begin(), processes.end(), is_later);
    } else {
      processes.pop_back();
    }
  }
  return busy;
}

}  // namespace rlscope
