// To whom time goes that several threads share, that is corrected, or that each thread's own view counts.
#include "time_attribution.h"

#include <algorithm>
#include <vector>

namespace rlscope {
namespace {

FunctionPlace function_place(const BreakdownPlace& place, uint64_t boundary) {
  return {place.scope, boundary - static_cast<uint8_t>(boundary) + place.cell};
}

}  // namespace

TimeAttribution::TimeAttribution(const SweepOptions& options, uint64_t start, uint64_t end, const RowLimit& limit,
                                 SweepTables& tables, const Owner& owner, const ProcessDevices& devices,
                                 const Phases& phases)
    : tables_(tables), owner_(owner), devices_(devices), phases_(phases), limit_(limit), waits_(tables, limit),
      watch_(options.watch), by_thread_(options.by_thread), now_(start), end_(end), rarity_(options.borders ? kDetailed : 0) {
  if (options.costs) correction_.emplace(*options.costs);
  if (options.borders) detail_.emplace(*options.borders, start);
  sharing_changed();
}

void TimeAttribution::set_rare_cell() {
  const Thread& owner = owner_.thread();
  bool is_wait = owner.category() == kWait || devices_.are_idle(false);
  if (is_wait || waits_.is_any() || waits_.adds_idle()) wait_changed();
  BreakdownPlace place = place_of(owner, owner.category());
  cell_ = &tables_.row(place.scope).ticks[place.cell];
  rarity_ = devices_.work() || waits_.is_any() ? kRare : detail_ ? kDetailed : 0;
  if (detail_) detail_->enter(function_place(place, owner.boundary), tables_.epoch(), cell_, now_);
}

void TimeAttribution::devices_changed(size_t cells) {
  charge_all(cells);
  rarity_ = kRare;
}

IdleDoing TimeAttribution::doing_of(const Thread& thread, uint8_t category) const {
  uint64_t wait = category == kWait ? thread.boundary >> kWaitShift : 0;
  return {devices_.working(), owner_.scope_of(thread), static_cast<uint32_t>(wait), category, tables_.evaluates()};
}

// The process begins or ends to wait, or goes on with it in another boundary, phase or operation, or beside other devices;
// while one of several devices works, it does anything else.
void TimeAttribution::wait_changed() {
  IdleDoing doing = doing_of(owner_.thread(), owner_.thread().category());
  waits_.change(now_, phases_.number(), doing, devices_.are_idle(doing.wait));
}

// All time up to now is to be added up before.
void TimeAttribution::mark_loop(LoopMark mark, bool begins) {
  if (waits_.is_any() || waits_.adds_idle()) wait_changed();
  tables_.mark_loop(mark, begins, now_);
}

// ---- time between records

// Adds the time since a thread's last change to the thread's own view. To be called before each change.
void TimeAttribution::charge(Thread& thread, size_t cells) {
  if (thread.takes_part() && now_ > thread.charged_until) {
    Row& row = tables_.thread_row(thread.stream, phases_.number(), owner_.scope_of(thread));
    uint64_t left = now_ - thread.charged_until;
    if (thread.gap) {
      uint64_t ran = thread.gap->ran_between(thread.charged_until, now_);
      uint64_t queued = thread.gap->queued_between(thread.charged_until, now_);
      row.ticks[cells + thread.gap->category()] += ran;
      row.ticks[cells + thread.gap->queued_category()] += queued;
      left -= ran + queued;
    }
    row.ticks[cells + thread.category()] += left;
    limit_.check(tables_.thread_rows(), "by thread it has", "rows", "analyze it without --by thread");
  }
  thread.charged_until = now_;
}

void TimeAttribution::charge_all(size_t cells) {
  if (!by_thread_) return;
  for (Thread* thread : owner_.threads()) charge(*thread, cells);
}

void TimeAttribution::advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id) {
  advance_slowly(ticks);
  if (by_thread_) charge(thread, devices_.cells());
  if (!correction_ || now_ != ticks) return;  // the record lies outside the process's time
  if (closes) {
    correction_->charge_end(thread.debt, thread.frames[thread.frames.depth() - 1].id, now_);
  } else if (id != 0) {
    correction_->charge_begin(thread.debt, id, now_);
  }
}

void TimeAttribution::advance_slowly(uint64_t ticks) {
  uint64_t until = std::min(ticks, end_);
  if (until <= now_) return;
  if (detail_) detail_time(until);
  uint64_t owned = 0;
  owner_.share(now_, until, [&](Thread& thread, uint8_t category, uint64_t taken) {
    give(thread, category, taken);
    const Thread& owner = owner_.thread();
    bool is_owners = &thread == &owner && category == owner.category();
    if (taken > 0 && waits_.adds_idle() && devices_.work() && !is_owners) tables_.add_idle(doing_of(thread, category), taken);
    owned = taken;  // the last one is the owner
  });
  waits_.leave_out(until - now_ - owned);
  now_ = until;
}

// Adds the time up to `until` to the detail. A bin has of each share what the share has up to the bin's end, less what it
// has up to its start, so that the parts sum to the share.
void TimeAttribution::detail_time(uint64_t until) {
  if (!owner_.sharing()) return detail_->settle(until);
  detail_->settle(now_);
  std::vector<uint64_t> given(2 * owner_.sharing() + 1);
  for (uint64_t end = now_; end < until;) {
    end = std::min(detail_->border(), until);
    size_t index = 0;
    owner_.share(now_, end, [&](const Thread& thread, uint8_t category, uint64_t taken) {
      detail_->give(function_place(place_of(thread, category), thread.boundary_of(category)), taken - given[index]);
      given[index++] = taken;
    });
    detail_->go_to(end);
  }
}

void TimeAttribution::give(Thread& thread, uint8_t category, uint64_t ticks) {
  if (ticks == 0) return;
  BreakdownPlace place = place_of(thread, category);
  tables_.row(place.scope).ticks[place.cell] += ticks;
  if (watch_) watch_->own(place, category == kWait ? thread.boundary >> kWaitShift : 0, ticks);
  // What a thread waits for, or a core, would not have come earlier without its overhead.
  if (!correction_ || category == kWait || category >= kNoCore) return;
  Scope of_device = devices_.are_launchs() ? devices_.launch_scope() : owner_.scope_of(thread);
  correction_->run_down(thread.debt, now_, now_ + ticks, place, of_device);
}

}  // namespace rlscope
