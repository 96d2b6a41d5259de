// Adds up when any of several processes' device work runs.
#include "device_union.h"

#include <algorithm>

namespace rlscope {
namespace {

bool is_of(WorkKind kind, const UnionWork& work) {
  return kind == WorkKind::kAny || work.communicates == (kind == WorkKind::kCommunicating);
}

// Calls `on_busy(place, start, end)` for intervals of work that do not overlap, of each place in order. Work comes in order
// of its start, so what a device has been seen busy until is all that is to be known of the past.
template <typename OnBusy>
void visit_busy(const std::vector<UnionInput>& inputs, size_t places, WorkKind kind, bool recovers, OnBusy on_busy) {
  std::vector<uint64_t> busy_until(places);
  for (WorkUnion all(inputs, recovers); all.next();) {
    const UnionWork& work = all.work();
    uint64_t& until = busy_until[work.place];
    if (work.end <= until || !is_of(kind, work)) continue;
    on_busy(work.place, std::max(until, work.start), work.end);
    until = work.end;
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

std::vector<uint64_t> busy_union(const std::vector<UnionInput>& inputs, size_t places, WorkKind kind, bool recovers) {
  std::vector<uint64_t> busy(places);
  visit_busy(inputs, places, kind, recovers,
             [&](size_t place, uint64_t start, uint64_t end) { busy[place] += end - start; });
  return busy;
}

std::vector<std::vector<uint64_t>> busy_union_in_bins(const std::vector<UnionInput>& inputs, size_t places,
                                                      const Bins& bins, WorkKind kind, bool recovers) {
  std::vector<std::vector<uint64_t>> busy(places, std::vector<uint64_t>(bins.count));
  visit_busy(inputs, places, kind, recovers, [&](size_t place, uint64_t start, uint64_t end) {
    if (end <= bins.start) return;
    add_to_bins(std::max(start, bins.start) - bins.start, end - bins.start, bins.width, busy[place]);
  });
  return busy;
}

}  // namespace rlscope
