// Cells of functions, and what bins and iterations took of them.
#include "detail.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace rlscope {
namespace {

constexpr uint64_t kNoBorder = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kStepDigits = 5;  // binary digits of which the first is 1: sixteen steps per octave

// As many iterations have entries, and as many entries there are; of more, some are left out.
constexpr size_t kMostIterations = 16384;
constexpr size_t kSlowestIterations = 512;
constexpr size_t kSpacedIterations = 3584;

uint64_t rounded_to_step(uint64_t ticks) {
  unsigned digits = 64 - static_cast<unsigned>(__builtin_clzll(ticks | 1));
  unsigned dropped = digits > kStepDigits ? digits - kStepDigits : 0;
  return ticks >> dropped << dropped;
}

}  // namespace

Detail::Detail(const std::vector<uint64_t>& borders, uint64_t start_ticks)
    : current_(nullptr), since_(start_ticks), borders_(borders), border_(borders.empty() ? kNoBorder : borders[0]) {
  current_ = &cell({0, 0});
  settle(start_ticks);  // bins may end before the process begins
}

FunctionCell& Detail::find_cell(const FunctionPlace& place) {
  auto [found, is_new] = places_.try_emplace(place, static_cast<uint32_t>(cells_.size()));
  if (!is_new) return cells_[found->second];
  auto [series, is_new_series] =
      series_places_.try_emplace({place.scope, place.cell()}, static_cast<uint32_t>(series_.size()));
  if (is_new_series) {
    series_.emplace_back(place.scope, place.cell());
    ticks_in_bin_.push_back(0);
  }
  touched_in_bin_.push_back(nullptr);
  touched_in_iteration_.push_back(nullptr);
  return cells_.emplace_back(FunctionCell{place, series->second, found->second});
}

void Detail::settle_bins(uint64_t now) {
  while (now >= border_) {
    if (border_ > since_) add(*current_, border_ - since_);
    since_ = std::max(since_, border_);
    close_bin();
  }
}

void Detail::go_to(uint64_t until) {
  since_ = until;
  while (until >= border_) close_bin();
}

void Detail::close_bin() {
  for (size_t i = 0; i < in_bin_; i++) {
    const FunctionCell* cell = touched_in_bin_[i];
    uint64_t ticks = cell->ticks - cell->ticks_before_bin;
    if (ticks == 0) continue;
    if (ticks_in_bin_[cell->series] == 0) series_in_bin_.push_back(cell->series);
    ticks_in_bin_[cell->series] += ticks;
  }
  for (uint32_t series : series_in_bin_) {
    bins_.push_back({bin_, series, ticks_in_bin_[series]});
    ticks_in_bin_[series] = 0;
  }
  in_bin_ = 0;
  series_in_bin_.clear();
  bin_++;
  epoch_++;
  border_ = bin_ < borders_.size() ? borders_[bin_] : kNoBorder;
}

// ---- iterations

void Detail::report_progress(uint64_t now, bool is_baseline) {
  if (has_progress_ && !is_baseline) {
    end_iteration(now);
  } else {
    for (size_t i = 0; i < in_iteration_; i++) touched_in_iteration_[i]->iteration = 0;
  }
  has_progress_ = true;
  in_iteration_ = 0;
  iteration_start_ = now;
  epoch_++;
}

void Detail::end_iteration(uint64_t now) {
  auto iteration = static_cast<uint32_t>(iterations_.size());
  for (size_t i = 0; i < in_iteration_; i++) {
    const FunctionCell* cell = touched_in_iteration_[i];
    uint64_t ticks = cell->ticks - cell->ticks_before_iteration;
    if (ticks == 0) continue;
    iteration_entries_.push_back({iteration, cell->index, ticks});
  }
  iterations_.push_back({iteration_start_, now});
  iteration_++;
  iterations_with_entries_++;
  if (iterations_with_entries_ > kMostIterations || iteration_entries_.size() > most_iteration_entries_) thin_iterations();
}

// Leaves the entries of the slowest iterations, and of every so many; of fewer, while there are too many entries.
void Detail::thin_iterations() {
  size_t slowest = kSlowestIterations;
  size_t spaced = kSpacedIterations;
  do {
    while (iterations_.size() / iteration_step_ > spaced) iteration_step_ *= 2;
    leave_iterations(slowest);
    slowest /= 2;
    spaced /= 2;
  } while (iteration_entries_.size() > kMostIterationEntries / 2 && spaced > 0);
  // What cannot be thinned further is not looked at again for every iteration.
  most_iteration_entries_ = std::max(kMostIterationEntries, 2 * iteration_entries_.size());
}

// Leaves the entries of so many of the slowest iterations, and of every `iteration_step_`th.
void Detail::leave_iterations(size_t slow) {
  auto length = [this](uint32_t iteration) {
    return iterations_[iteration].end_ticks - iterations_[iteration].start_ticks;
  };
  std::vector<uint32_t> known;
  for (const IterationEntry& entry : iteration_entries_) {
    if (known.empty() || known.back() != entry.iteration) known.push_back(entry.iteration);
  }
  std::vector<uint32_t> slowest = known;
  slow = std::min(slow, slowest.size());
  std::partial_sort(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(slow), slowest.end(),
                    [&](uint32_t a, uint32_t b) { return length(a) > length(b); });
  slowest.resize(slow);
  std::sort(slowest.begin(), slowest.end());
  auto is_left = [&](uint32_t iteration) {
    return iteration % iteration_step_ == 0 || std::binary_search(slowest.begin(), slowest.end(), iteration);
  };
  auto left = std::remove_if(iteration_entries_.begin(), iteration_entries_.end(),
                             [&](const IterationEntry& entry) { return !is_left(entry.iteration); });
  iteration_entries_.erase(left, iteration_entries_.end());
  iterations_with_entries_ = static_cast<size_t>(std::count_if(known.begin(), known.end(), is_left));
}

// ---- instances of operations

void Detail::end_operation(Scope scope, uint64_t start_ticks, uint64_t now) {
  Instances& instances = instances_[scope];
  SweptInstance instance{start_ticks, now - start_ticks};
  instances.count++;
  instances.ticks += instance.ticks;
  instances.counts[rounded_to_step(instance.ticks)]++;
  instances.note_slow(instance);
}

void Detail::enter_phase(uint32_t phase, uint64_t now) {
  if (!phases_.empty() && phases_.back().ticks == now) phases_.pop_back();
  phases_.push_back({now, phase});
}

void Detail::finish(uint64_t now) {
  settle(now);
  if (border_ != kNoBorder) close_bin();
  if (iterations_.size() > kMostIterations) thin_iterations();
}

}  // namespace rlscope
