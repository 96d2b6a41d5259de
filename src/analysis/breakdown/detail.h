// What the sweep adds up where somebody asks for detail: time by function, in bins, by iteration, by operation instance.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "swept_rows.h"

namespace rlscope {

// Time of one function in one operation.
struct FunctionPlace {
  Scope scope;
  uint64_t function;  // its cell of Row::ticks and, above kFunctionShift, the boundary's number; 0: Python outside any

  static constexpr unsigned kFunctionShift = 8;
  uint8_t cell() const { return static_cast<uint8_t>(function); }
  auto number() const { return static_cast<uint32_t>(function >> kFunctionShift); }
  bool operator==(const FunctionPlace& other) const { return scope == other.scope && function == other.function; }
};

struct FunctionCell {
  FunctionPlace place;
  uint32_t series;          // its place in Detail::series()
  uint32_t index;           // its own in Detail::cells()
  uint64_t row_epoch = 0;   // in which the next is the cell in a row of the breakdown; 0: in none
  uint64_t* in_row = nullptr;
  uint64_t calls = 0;       // that began here, on any thread
  uint64_t ticks = 0;       // of the process
  uint64_t epoch = 0;       // in which it was touched last; 0: in none
  uint64_t bin = 0;         // the same, counted from 1
  uint64_t ticks_before_bin = 0;
  uint64_t iteration = 0;   // the same
  uint64_t ticks_before_iteration = 0;
};

// What a bin holds of one (scope, cell), which is a series over all bins.
struct BinEntry {
  uint32_t bin;
  uint32_t series;
  uint64_t ticks;
};

// From one report of progress to the next that is no baseline.
struct Iteration {
  uint64_t start_ticks;
  uint64_t end_ticks;
};

struct IterationEntry {
  uint32_t iteration;
  uint32_t cell;  // its place in Detail::cells()
  uint64_t ticks;
};

// What phase the process was in from a time up to the next such one.
struct PhaseStart {
  uint64_t ticks;
  uint32_t phase;
};

// Of operations, each from its begin to its end.
struct Instances {
  static constexpr size_t kSlowest = 5;

  uint64_t count = 0;
  uint64_t ticks = 0;
  std::map<uint64_t, uint64_t> counts;      // by ticks, rounded down to a sixteenth of an octave
  std::array<SweptInstance, kSlowest> slowest{};  // the slowest first; those that there are not have no ticks

  void note_slow(SweptInstance instance) {
    for (SweptInstance& other : slowest) {
      if (instance.ticks > other.ticks) std::swap(instance, other);
    }
  }
  Instances& operator+=(const Instances& others) {
    count += others.count;
    ticks += others.ticks;
    for (const auto& [length, found] : others.counts) counts[length] += found;
    for (const SweptInstance& slow : others.slowest) note_slow(slow);
    return *this;
  }
};

// Time goes to one place at a time. Shared time is given in parts; it lies in no more than one bin.
class Detail {
 public:
  // `borders` are the ends of bins, in ticks, in ascending order. What lies behind the last one is in no bin.
  Detail(const std::vector<uint64_t>& borders, uint64_t start_ticks);

  // From `now` on, time belongs to the place, and in the epoch of rows to a cell of a row of the breakdown.
  void enter(const FunctionPlace& place, uint64_t row_epoch, uint64_t* in_row, uint64_t now) {
    settle(now);
    current_ = &cell(place);
    current_->row_epoch = row_epoch;
    current_->in_row = in_row;
  }
  // The same; false, and nothing is done, where it would take long: at the end of a bin, and for a place that was not
  // entered recently in this epoch. It calls nothing, so that its caller keeps all in registers.
  bool enter_quickly(const FunctionPlace& place, uint64_t row_epoch, uint64_t now) {
    const Recent& recent = recent_[recent_place(place)];
    if (!(recent.place == place) || recent.cell->row_epoch != row_epoch || now >= border_) return false;
    add(*current_, now - since_);
    since_ = now;
    current_ = recent.cell;
    return true;
  }
  uint64_t* in_row() const { return current_->in_row; }
  // Adds what belongs to the present place up to `now`.
  void settle(uint64_t now) {
    if (__builtin_expect(now >= border_, 0)) settle_bins(now);
    if (now > since_) {
      add(*current_, now - since_);
      since_ = now;
    }
  }
  // Of the time up to `until`, which settle() has not seen: gives some to a place; then goes on from `until`.
  void give(const FunctionPlace& place, uint64_t ticks) { add(cell(place), ticks); }
  void go_to(uint64_t until);
  uint64_t border() const { return border_; }  // the end of the present bin

  void count_call(const FunctionPlace& place) { cell(place).calls++; }
  void count_call_here() { current_->calls++; }
  // All time up to `now` was settled.
  void report_progress(uint64_t now, bool is_baseline);
  void end_operation(Scope scope, uint64_t start_ticks, uint64_t now);
  void enter_phase(uint32_t phase, uint64_t now);
  // At the end of the process. Leaves as many iterations with entries as a result has.
  void finish(uint64_t now);

  const std::deque<FunctionCell>& cells() const { return cells_; }
  const std::vector<std::pair<Scope, uint8_t>>& series() const { return series_; }  // (scope, cell of Row::ticks)
  const std::vector<BinEntry>& bins() const { return bins_; }                       // in order of bins
  const std::vector<Iteration>& iterations() const { return iterations_; }
  // Of all iterations if they are few, else of the slowest and of some that are evenly spaced.
  const std::vector<IterationEntry>& iteration_entries() const { return iteration_entries_; }
  const std::map<Scope, Instances>& instances() const { return instances_; }
  const std::vector<PhaseStart>& phases() const { return phases_; }  // in ascending order; none before the first one

 private:
  static constexpr unsigned kRecentDigits = 12;  // binary ones of how many there are
  static constexpr size_t kMostIterationEntries = 1 << 20;
  struct Recent {
    FunctionPlace place{~Scope{0}, 0};
    FunctionCell* cell = nullptr;
  };

  struct Hash {
    size_t operator()(const FunctionPlace& place) const {
      return (uint64_t{place.scope} << 40 ^ place.function) * 0x9e3779b97f4a7c15;
    }
  };
  static size_t recent_place(const FunctionPlace& place) { return Hash()(place) >> (64 - kRecentDigits); }
  // The cell of the place. It stays where it is.
  FunctionCell& cell(const FunctionPlace& place) {
    Recent& recent = recent_[recent_place(place)];
    if (__builtin_expect(!(recent.place == place), 0)) recent = {place, &find_cell(place)};
    return *recent.cell;
  }
  FunctionCell& find_cell(const FunctionPlace& place);
  void add(FunctionCell& cell, uint64_t ticks) {
    if (__builtin_expect(cell.epoch != epoch_, 0)) touch(cell);
    cell.ticks += ticks;
  }
  // For the first time in this bin, or in this iteration. Lists have room for all cells.
  void touch(FunctionCell& cell) {
    cell.epoch = epoch_;
    if (cell.bin != bin_ + uint64_t{1}) {
      cell.bin = bin_ + uint64_t{1};
      cell.ticks_before_bin = cell.ticks;
      touched_in_bin_[in_bin_++] = &cell;
    }
    if (cell.iteration != iteration_) {
      cell.iteration = iteration_;
      cell.ticks_before_iteration = cell.ticks;
      touched_in_iteration_[in_iteration_++] = &cell;
    }
  }
  void settle_bins(uint64_t now);
  void close_bin();
  void end_iteration(uint64_t now);
  void thin_iterations();
  void leave_iterations(size_t slow);

  std::vector<Recent> recent_{size_t{1} << kRecentDigits};
  std::unordered_map<FunctionPlace, uint32_t, Hash> places_;  // of cells
  std::deque<FunctionCell> cells_;
  std::vector<std::pair<Scope, uint8_t>> series_;
  std::map<std::pair<Scope, uint8_t>, uint32_t> series_places_;
  FunctionCell* current_;
  uint64_t since_;  // up to which all time was added
  uint64_t epoch_ = 1;  // ends with each bin and each iteration

  const std::vector<uint64_t>& borders_;
  uint64_t border_;
  uint32_t bin_ = 0;
  std::vector<FunctionCell*> touched_in_bin_;
  size_t in_bin_ = 0;  // so many of them
  std::vector<uint64_t> ticks_in_bin_;  // by series
  std::vector<uint32_t> series_in_bin_;
  std::vector<BinEntry> bins_;

  bool has_progress_ = false;
  uint64_t iteration_ = 1;  // the present one, counted from 1
  std::vector<FunctionCell*> touched_in_iteration_;
  size_t in_iteration_ = 0;  // so many of them
  std::vector<Iteration> iterations_;
  std::vector<IterationEntry> iteration_entries_;  // in order of iterations
  size_t iterations_with_entries_ = 0;
  size_t most_iteration_entries_ = kMostIterationEntries;
  uint32_t iteration_step_ = 1;  // every so many are kept, besides the slowest
  uint64_t iteration_start_ = 0;

  std::map<Scope, Instances> instances_;
  std::vector<PhaseStart> phases_;
};

}  // namespace rlscope
