// Merges several processes' device work by one clock and adds up when any of it runs.
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

// Calls `on_busy(place, start, end)` for intervals of work that do not overlap, of each place in order. Work comes in order
// of its start, so what a device has been seen busy until is all that is to be known of the past.
template <typename OnBusy>
void visit_busy(const std::vector<UnionInput>& inputs, size_t places, bool recovers, OnBusy on_busy) {
  std::vector<std::unique_ptr<Process>> processes;  // a heap, the earliest work in front
  for (const UnionInput& input : inputs) {
    auto process = std::make_unique<Process>(input, recovers);
    if (process->has_next()) processes.push_back(std::move(process));
  }
  std::make_heap(processes.begin(), processes.end(), is_later);
  std::vector<uint64_t> busy_until(places);
  while (!processes.empty()) {
    std::pop_heap(processes.begin(), processes.end(), is_later);
    Process& next = *processes.back();
    uint64_t& until = busy_until[next.place()];
    if (next.end() > until) {
      on_busy(next.place(), std::max(until, next.start()), next.end());
      until = next.end();
    }
    next.find_next();
    if (next.has_next()) {
      std::push_heap(processes.begin(), processes.end(), is_later);
    } else {
      processes.pop_back();
    }
  }
}

// As times from the start of the bins.
void add_to_bins(uint64_t start, uint64_t end, uint64_t width, std::vector<uint64_t>& bins) {
  for (uint64_t bin = start / width; bin < bins.size() && start < end; bin++) {
    uint64_t length = std::min(end - start, width - start % width);
    bins[bin] += length;
    start += length;
  }
}

}  // namespace

uint64_t ClockMap::operator()(uint64_t ticks) const {
  using Wide = __int128;
  Wide scaled = (Wide{ticks} - from_ticks) * numerator + denominator / 2;
  Wide result = Wide{to} + (scaled >= 0 ? scaled / denominator : -((denominator - 1 - scaled) / denominator));
  return static_cast<uint64_t>(std::clamp<Wide>(result, 0, UINT64_MAX));
}

std::vector<uint64_t> busy_union(const std::vector<UnionInput>& inputs, size_t places, bool recovers) {
  std::vector<uint64_t> busy(places);
  visit_busy(inputs, places, recovers, [&](size_t place, uint64_t start, uint64_t end) { busy[place] += end - start; });
  return busy;
}

std::vector<std::vector<uint64_t>> busy_union_in_bins(const std::vector<UnionInput>& inputs, size_t places,
                                                      const Bins& bins, bool recovers) {
  std::vector<std::vector<uint64_t>> busy(places, std::vector<uint64_t>(bins.count));
  visit_busy(inputs, places, recovers, [&](size_t place, uint64_t start, uint64_t end) {
    if (end <= bins.start) return;
    add_to_bins(std::max(start, bins.start) - bins.start, end - bins.start, bins.width, busy[place]);
  });
  return busy;
}

}  // namespace rlscope
