// Where the training loop of a process is, and what lies in it: a part of the tables of the sweep.
#include <map>
#include <string_view>
#include <tuple>

#include "sweep_tables.h"

namespace rlscope {

// One called training_loop says where it is, so marks of other operations count only without one; those within
// evaluation never do. A reset does not begin it: environments are seeded before networks are built.
void SweepTables::mark_loop(LoopMark mark, bool begins, uint64_t now) {
  bool is_operation = mark <= LoopMark::kReset;
  if (mark == LoopMark::kNothing) return;
  if (is_operation && (loop_begin_ == LoopBegin::kTrainingLoop || evaluates_)) return;
  bool is_first = loop_begin_ == LoopBegin::kNone;
  if (mark == LoopMark::kTrainingLoop) {
    is_first |= loop_begin_ != LoopBegin::kTrainingLoop;
    loop_begin_ = LoopBegin::kTrainingLoop;
  } else if (loop_begin_ < LoopBegin::kKnown) {
    bool is_reset = mark == LoopMark::kReset && !begins;
    loop_begin_ = is_operation && begins ? LoopBegin::kOpen : is_reset ? LoopBegin::kNone : LoopBegin::kKnown;
  }
  marks_++;
  if (has_devices_) epoch_++;
  leave_outside_transitions();
  for (Outside& outside : outside_) outside.at_last = *outside.row;
  last_mark_ticks_ = now;
  if (is_first) {
    first_mark_ticks_ = now;
    first_mark_ = marks_;
    for (Outside& outside : outside_) outside.at_first = *outside.row;
  }
}

// What was added since an earlier mark lies between two marks.
void SweepTables::settle(LoopTicks& sum) const {
  if (sum.mark == marks_) return;
  sum.between = sum.mark < first_mark_ ? 0 : sum.between + sum.since;
  sum.since = 0;
  sum.mark = marks_;
}

void SweepTables::add_wait(WaitSum& sum, uint64_t ticks, bool in_operation) const {
  sum.ticks += ticks;
  if (in_operation) {
    sum.in_operations_ticks += ticks;
  } else {
    add_in_loop(sum.outside, ticks);
  }
}

std::array<uint64_t, 3> SweepTables::parts(LoopTicks sum, uint64_t all) const {
  settle(sum);
  uint64_t after = marks_ && sum.mark >= first_mark_ ? sum.since : 0;
  return {all - sum.between - after, sum.between, after};
}

// ---- how often the process went from one category into another

void SweepTables::find_transitions(Scope scope) {
  bool is_between = is_outside(scope) && transitions_.now == transitions_.by_scope[kInNoPhase].data();
  if (is_between) settle_outside_transitions();
  transitions_.now[scope] = is_between ? &transitions_.outside : &transitions_.counts.emplace_back();
}

// What was counted since it was settled last came behind the mark that was the last one then.
void SweepTables::settle_outside_transitions() {
  uint64_t entries = entries_in(transitions_.outside);
  transitions_.outside_entries.since += entries - transitions_.settled_entries;
  transitions_.settled_entries = entries;
  settle(transitions_.outside_entries);
}

void SweepTables::leave_outside_transitions() {
  std::vector<TransitionCounts*>& by_scope = transitions_.by_scope[kInNoPhase];
  for (const Outside& outside : outside_) {
    if (outside.scope < by_scope.size()) by_scope[outside.scope] = nullptr;
  }
}

template <typename OnEntry>
void SweepTables::for_each_entry(const TransitionCounts& counts, OnEntry on_entry) {
  for (size_t from = 0; from < name_categories(); from++) {
    for (size_t to = 0; to < name_categories(); to++) {
      Category left = folded_category(static_cast<uint8_t>(from)), entered = folded_category(static_cast<uint8_t>(to));
      if (left != entered && counts.of[from][to]) on_entry(left, entered, counts.of[from][to]);
    }
  }
}

uint64_t SweepTables::entries_in(const TransitionCounts& counts) {
  uint64_t entries = 0;
  for_each_entry(counts, [&](Category, Category, uint64_t count) { entries += count; });
  return entries;
}

std::vector<SweptTransition> SweepTables::transitions_in(std::initializer_list<size_t> places) const {
  std::map<std::tuple<std::string_view, std::string_view, Category, Category>, uint64_t> counts;
  for (size_t place : places) {
    for (Scope scope = 0; scope < transitions_.by_scope[place].size(); scope++) {
      const TransitionCounts* found = transitions_.by_scope[place][scope];
      if (!found) continue;
      for_each_entry(*found, [&](Category left, Category entered, uint64_t count) {
        counts[{stage_of(scope), operation_of(scope), left, entered}] += count;
      });
    }
  }
  std::vector<SweptTransition> rows;
  for (const auto& [key, count] : counts) {
    const auto& [stage, operation, from, to] = key;
    rows.push_back({stage, operation, from, to, count});
  }
  return rows;
}

void SweepTables::write_transitions(SweepResult& result) {
  settle_outside_transitions();
  leave_outside_transitions();
  transitions_.by_scope[kInNoPhase][0] = &transitions_.outside;
  result.transitions = transitions_in({kInNoPhase, kInPhase});
  result.evaluation_transitions = transitions_in({kInEvaluation});
  for (const SweptTransition& row : result.transitions) result.transitions_in_loop += row.entries;
  result.transitions_in_loop -= transitions_.settled_entries - transitions_.outside_entries.between;
}

// ---- while not all of its devices worked

void SweepTables::settle(IdleCells& cells, const Row& row) const {
  if (cells.mark == marks_) return;
  for (size_t i = 0; i < kCategories; i++) {
    cells.between[i] = cells.mark < first_mark_ ? 0 : cells.between[i] + row.ticks[i] - cells.at_mark[i];
    cells.at_mark[i] = row.ticks[i];
  }
  cells.mark = marks_;
}

void SweepTables::add_idle(const IdleDoing& doing, uint64_t ticks) {
  LoopTicks& sum = idle_[doing];
  settle(sum);
  sum.since += ticks;
}

// Of the training loop, or of all time where nothing shows where that is.
void SweepTables::write_idle(const std::vector<Name>& names, uint64_t devices, SweepResult& result) const {
  std::map<std::tuple<uint64_t, Scope, Category, bool, std::string_view>, uint64_t> sums;
  for (const auto& [key, found] : idle_cells_) {
    const Row& row = rows_.at(key);
    IdleCells cells = found;
    settle(cells, row);
    for (uint8_t category = 0; category < kCategories; category++) {
      uint64_t ticks = marks_ ? cells.between[category] : row.ticks[category];
      if (!ticks || static_cast<Category>(category) == Category::kWait) continue;
      sums[{0, key.second, folded_category(category), is_evaluation(key.first), ""}] += ticks;
    }
  }
  for (const auto& [doing, found] : idle_) {
    LoopTicks sum = found;
    settle(sum);
    uint64_t ticks = marks_ ? sum.between : sum.since;
    if (!ticks || doing.working == devices) continue;
    std::string_view wait = doing.wait ? wait_label(names, doing.wait) : "";
    sums[{doing.working, doing.scope, folded_category(doing.category), doing.is_evaluation, wait}] += ticks;
  }
  for (const auto& [key, ticks] : sums) {
    const auto& [working, scope, category, is_evaluation, wait] = key;
    // In no tail: those that are, are in device_idle's.
    result.idle.push_back({working, {stage_of(scope), operation_of(scope), category, is_evaluation, wait, false, ticks}});
  }
}

}  // namespace rlscope
