// Where a process's time goes as it passes: to the row of its owner and, where that is asked for, to threads, detail and
// correction.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "breakdown_cells.h"
#include "correction.h"
#include "detail.h"
#include "owner.h"
#include "phases.h"
#include "process_devices.h"
#include "row_limit.h"
#include "sweep_options.h"
#include "sweep_tables.h"
#include "sweep_thread.h"
#include "waits.h"

namespace rlscope {

class TimeAttribution {
 public:
  // From `start` to `end`.
  TimeAttribution(const SweepOptions& options, uint64_t start, uint64_t end, const RowLimit& limit, SweepTables& tables,
                  const Owner& owner, const ProcessDevices& devices, const Phases& phases);

  uint64_t now() const { return now_; }
  std::optional<Correction>& correction() { return correction_; }
  std::optional<Detail>& detail() { return detail_; }

  // Lets time pass, which goes where it went last.
  void advance(uint64_t ticks) {
    if (ticks > end_) ticks = end_;
    if (ticks > now_) {
      *cell_ += ticks - now_;
      now_ = ticks;
    }
  }
  // To a record of the thread. `closes`: the record ends the innermost frame; else it begins `id`, or is another with 0.
  void advance(Thread& thread, uint64_t ticks, bool closes, uint32_t id) {
    if (__builtin_expect(is_observed_, 0)) return advance_observed(thread, ticks, closes, id);
    advance(ticks);
  }
  // Where the time may be shared, or somebody wants to know of it.
  void advance_slowly(uint64_t ticks);
  // A chunk of the thread began at `ticks`, to which changing cost so much.
  void charge_switch(Thread& thread, uint64_t ticks, uint64_t switch_ticks) {
    if (correction_ && now_ == ticks) correction_->charge_ticks(thread.debt, switch_ticks, now_);
  }

  // To be called when anything of the owner has changed, or who it is: from now on time is its, in these tables, the same as
  // ever, which the caller has at hand.
  template <bool kWithDetail = false>
  [[gnu::always_inline]] void set_cell(const Thread& owner, Scope scope, SweepTables& tables);
  void set_rare_cell();
  // Devices work from now on that did not, or others do; up to now rows had these cells.
  void devices_changed(size_t cells);
  // Other threads run for parts of gaps.
  void sharing_changed() { is_observed_ = by_thread_ || correction_ || watch_ || owner_.sharing(); }
  // Whether it suffices to add up, for which the cell can be exchanged.
  template <bool kWithDetail>
  bool is_usual() const {
    return rarity_ == (kWithDetail ? kDetailed : 0) && !is_observed_;
  }
  uint64_t* cell() const { return cell_; }
  void set_cell(uint64_t* cell) { cell_ = cell; }

  // With detail: of the boundary that the thread is in now, with this scope.
  void count_call(const Thread& thread, Scope scope, bool is_owner) {
    // Where the process's time goes there too, its cell is at hand.
    if (__builtin_expect(is_owner && rarity_ == kDetailed, 1)) {
      detail_->count_call_here();
    } else {
      detail_->count_call({scope, thread.boundary + devices_.cells()});
    }
  }
  void count_wait(uint64_t number) { waits_.sum(phases_.number(), static_cast<uint32_t>(number)).entries++; }
  void wait_changed();
  void mark_loop(LoopMark mark, bool begins);
  // By thread: adds what threads had up to now to their own views. To be called before anything else counts for them.
  void charge_all() { charge_all(devices_.cells()); }

 private:
  // What makes the present cell rare: a device works, or a wait is to be added up; and that detail is wanted, but neither.
  static constexpr uint64_t kRare = kFirstWait;
  static constexpr uint64_t kDetailed = kFirstWait << 1;

  void advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id);
  void detail_time(uint64_t until);
  void give(Thread& thread, uint8_t category, uint64_t ticks);
  void charge(Thread& thread, size_t cells);
  void charge_all(size_t cells);
  // Where a device works and the process waits, the time can be that of the operation which launched the work.
  [[gnu::always_inline]] BreakdownPlace place_of(const Thread& thread, uint8_t category) const {
    bool is_launchs = devices_.are_launchs() && is_blocked(category);
    return {phases_.number(), is_launchs ? devices_.launch_scope() : owner_.scope_of(thread),
            static_cast<uint8_t>(category + devices_.cells())};
  }
  IdleDoing doing_of(const Thread& thread, uint8_t category) const;

  SweepTables& tables_;
  const Owner& owner_;
  const ProcessDevices& devices_;
  const Phases& phases_;
  const RowLimit& limit_;
  Waits waits_;
  std::optional<Correction> correction_;
  std::optional<Detail> detail_;
  OwnerWatch* watch_;
  bool by_thread_;
  bool is_observed_;  // something is to be done at each record besides adding up, or the time is shared
  uint64_t now_;
  uint64_t end_;
  uint64_t* cell_ = nullptr;
  uint64_t rarity_;  // kRare, kDetailed or 0. With a boundary's number it is at least kFirstWait, so that one look finds all
};

template <bool kWithDetail>
[[gnu::always_inline]] inline void TimeAttribution::set_cell(const Thread& owner, Scope scope, SweepTables& tables) {
  uint64_t boundary = owner.boundary;
  if (kWithDetail) {
    bool is_usual = rarity_ == kDetailed && owner.category() != kWait;
    // A category is also the cell of a row, while no device works.
    if (__builtin_expect(is_usual && detail_->enter_quickly({scope, boundary}, tables.epoch(), now_), 1)) {
      cell_ = detail_->in_row();
      return;
    }
  }
  if (__builtin_expect((boundary | rarity_) >= kFirstWait, 0)) return set_rare_cell();
  cell_ = &tables.row(scope).ticks[static_cast<uint8_t>(boundary)];
}

}  // namespace rlscope
