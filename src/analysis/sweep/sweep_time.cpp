// To whom time goes that several threads share, that is corrected, or that each thread's own view counts.
#include <algorithm>
#include <string>

#include "process_sweep.h"

namespace rlscope {

// A backend or a simulator may compute in other threads while the one that called it is blocked. What threads did that have
// no stream is known; what those did between their records that have one and run no Python is not.
uint64_t Sweep::waiting_ticks(const Thread& thread, const BlockedGap& gap) const {
  uint8_t category = thread.category();
  if (category == kPython) return gap.blocked_ticks;
  bool may_be_helped = category == kSimulator || category == kBackend;
  bool has_native_threads = has_native_threads_ || std::pair(gap.start_ticks, thread.stream) > native_call_;
  return may_be_helped && !has_native_threads ? gap.blocked_ticks - gap.helped_ticks : 0;
}

// The name of the boundary; 0: the thread is in none.
uint32_t Sweep::innermost_boundary(const Thread& thread) {
  for (size_t i = thread.frames.depth(); i > 0; i--) {
    uint32_t id = thread.frames[i - 1].id;
    if (tables_.name(id).kind == NameKind::kBoundary) return id;
  }
  return 0;
}

// To all but those that ask how much of it the thread ran, the gap is a wait.
void Sweep::begin_gap(Thread& thread) {
  const BlockedGap& gap = thread.reader->blocked_gap();
  uint64_t waiting = waiting_ticks(thread, gap);
  if (waiting == 0 || !thread.takes_part()) return;
  thread.gap = {gap.start_ticks, gap.ticks, waiting, thread.boundary};
  uint32_t number = tables_.wait_number(innermost_boundary(thread));
  wait_sum(number).count++;
  thread.boundary = kWait | uint64_t{number} << kWaitShift;
  if (thread.gap->runs()) {
    sharing_.push_back(&thread);
    sort_sharing();
    is_observed_ = true;
  }
  thread_changed(thread);
}

void Sweep::end_gap(Thread& thread) {
  thread.boundary = thread.gap->boundary;
  thread.gap.reset();
  sharing_.erase(std::remove(sharing_.begin(), sharing_.end(), &thread), sharing_.end());
  is_observed_ = is_always_observed_ || !sharing_.empty();
  thread_changed(thread);
}

void Sweep::sort_sharing() {
  std::sort(sharing_.begin(), sharing_.end(), [this](const Thread* a, const Thread* b) {
    return key_of(*a, a->gap->category()) < key_of(*b, b->gap->category());
  });
}

// ---- where time goes

void Sweep::set_rare_cell() {
  wait_changed();
  BreakdownPlace place = place_of(*owner_, owner_->category());
  cell_ = &tables_.row(place.scope).ticks[place.cell];
  cell_is_rare_ = device_works() || wait_sum_ ? kRare : detail_ ? kDetailed : 0;
  if (detail_) detail_->enter(function_place(place, owner_->boundary), tables_.epoch(), cell_, now_);
}

WaitSum& Sweep::wait_sum(uint32_t number) {
  WaitSum& sum = tables_.wait(phase_, number);
  if (__builtin_expect(tables_.wait_rows() > most_rows_, 0)) {
    file_.refuse("it waits in more than " + std::to_string(most_rows_) +
                 " pairs of phase and function, which cannot be for a file of its size; record the run again");
  }
  return sum;
}

IdleDoing Sweep::doing_of(const Thread& thread, uint8_t category) const {
  uint64_t wait = category == kWait ? thread.boundary >> kWaitShift : 0;
  return {working_, scope_of(thread), static_cast<uint32_t>(wait), category, tables_.evaluates()};
}

// The process begins or ends to wait, or goes on with it in another boundary, phase or operation, or beside other devices;
// while one of several devices works, it does anything else.
void Sweep::wait_changed() {
  if (wait_sum_) tables_.add_wait(*wait_sum_, now_ - wait_since_, doing_.scope != 0);
  if (adds_idle_) tables_.add_idle(doing_, now_ - wait_since_);
  doing_ = doing_of(*owner_, owner_->category());
  wait_sum_ = doing_.wait ? &wait_sum(doing_.wait) : nullptr;
  wait_since_ = now_;
  adds_idle_ = device_works() ? has_several_devices_ : wait_sum_ && has_devices_;
}

// ---- time between records

// Adds the time since a thread's last change to the thread's own view. To be called before each change.
void Sweep::charge(Thread& thread) {
  if (thread.takes_part() && now_ > thread.charged_until) {
    Row& row = tables_.thread_row(thread.stream, phase_, scope_of(thread));
    size_t first = device_cells_;
    uint64_t ran = thread.gap ? thread.gap->ran_between(thread.charged_until, now_) : 0;
    row.ticks[first + thread.category()] += now_ - thread.charged_until - ran;
    if (thread.gap) row.ticks[first + thread.gap->category()] += ran;
    if (tables_.thread_rows() > most_rows_) {
      file_.refuse("by thread it has more than " + std::to_string(most_rows_) +
                   " rows, which cannot be for a file of its size; analyze it without --by thread");
    }
  }
  thread.charged_until = now_;
}

void Sweep::advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id) {
  advance_slowly(ticks);
  if (options_.by_thread) charge(thread);
  if (!correction_ || now_ != ticks) return;  // the record lies outside the process's time
  if (closes) {
    correction_->charge_end(thread.debt, thread.frames[thread.frames.depth() - 1].id, now_);
  } else if (id != 0) {
    correction_->charge_begin(thread.debt, id, now_);
  }
}

// Of threads that run for a part of the time, each takes that part, in the order in which they own, while there is time
// left; the rest is the owner's.
template <typename OnShare>
void Sweep::share_time(uint64_t until, OnShare on_share) {
  uint64_t left = until - now_;
  for (Thread* thread : sharing_) {
    if (left == 0 || !comes_before_owner(*thread)) break;
    uint64_t taken = std::min(left, thread->gap->ran_between(now_, until));
    on_share(*thread, thread->gap->category(), taken);
    left -= taken;
  }
  on_share(*owner_, owner_->category(), left);
}

// Whether the time now is the thread's for what it runs: as the owner, or in a gap for the part that it ran.
bool Sweep::has_part(const Thread& thread) const {
  if (!thread.gap) return &thread == owner_;
  return thread.gap->runs() && comes_before_owner(thread);
}

void Sweep::advance_slowly(uint64_t ticks) {
  uint64_t until = std::min(ticks, end_);
  if (until <= now_) return;
  if (detail_) detail_time(until);
  uint64_t owned = 0;
  share_time(until, [&](Thread& thread, uint8_t category, uint64_t taken) {
    give(thread, category, taken);
    bool is_owners = &thread == owner_ && category == owner_->category();
    if (adds_idle_ && device_works() && !is_owners) tables_.add_idle(doing_of(thread, category), taken);
    owned = taken;  // the last one is the owner
  });
  wait_since_ += until - now_ - owned;
  now_ = until;
}

// Adds the time up to `until` to the detail. A bin has of each share what the share has up to the bin's end, less what it
// has up to its start, so that the parts sum to the share.
void Sweep::detail_time(uint64_t until) {
  if (sharing_.empty()) return detail_->settle(until);
  detail_->settle(now_);
  std::vector<uint64_t> given(sharing_.size() + 1);
  for (uint64_t end = now_; end < until;) {
    end = std::min(detail_->border(), until);
    size_t index = 0;
    share_time(end, [&](const Thread& thread, uint8_t category, uint64_t taken) {
      detail_->give(function_place(place_of(thread, category), thread.boundary_of(category)), taken - given[index]);
      given[index++] = taken;
    });
    detail_->go_to(end);
  }
}

void Sweep::give(Thread& thread, uint8_t category, uint64_t ticks) {
  if (ticks == 0) return;
  BreakdownPlace place = place_of(thread, category);
  tables_.row(place.scope).ticks[place.cell] += ticks;
  if (options_.watch) options_.watch->own(place, category == kWait ? thread.boundary >> kWaitShift : 0, ticks);
  // What a thread waits for would not have come earlier without its overhead.
  if (!correction_ || category == kWait) return;
  correction_->run_down(thread.debt, now_, now_ + ticks, place, is_launchs() ? launch_scope_ : scope_of(thread));
}

void Sweep::charge_all() {
  for (const auto& thread : threads_) charge(*thread);
}

// ---- the end

uint64_t Sweep::next_record_ticks() const {
  uint64_t ticks = next_ticks_.smallest();
  return std::min({ticks, device_ticks_, stack_ticks_, pending_.empty() ? kNever : pending_.back()->first_ticks});
}

void Sweep::end() {
  devices_->finish();
  for (const auto& thread : threads_) {
    streams_[thread->stream].events = thread->events;
    if (next_ticks_[thread->slot] != kNever) last_ticks_ = std::max(last_ticks_, next_ticks_[thread->slot]);
  }
  last_ticks_ = std::max(last_ticks_, devices_->last_ticks());
  uint64_t end = file_.header().stop_ticks ? file_.header().stop_ticks : options_.limit_ticks;
  advance_slowly(end ? end : last_ticks_);
  if (options_.by_thread) charge_all();
}

// ---- what records report: progress, tasks, samples, collectives, memory

void Sweep::note(Thread& thread, StreamReader& reader) {
  switch (reader.type()) {
    case RecordType::kProgress: return note_progress(reader.progress());
    case RecordType::kTask: return note_task(reader);
    case RecordType::kSample: return note_sample(thread, reader);
    case RecordType::kCollective: return note_collective(reader);
    case RecordType::kMemory: return memory_.add(reader.memory(), scope_of(thread), now_);
    default: return;
  }
}

void Sweep::note_progress(const Progress& record) {
  mark_loop(LoopMark::kProgress);
  samples_.report_progress();
  memory_.report_progress();
  if (detail_) {
    detail_->settle(now_);
    detail_->report_progress(now_);
  }
  if (!progress_) {
    progress_.emplace();
    progress_->first_ticks = now_;
    progress_->first_timesteps = record.timesteps;
    evaluated_at_first_ = evaluated();
  }
  progress_->iterations += !record.is_baseline;
  progress_->last_ticks = now_;
  progress_->last_timesteps = record.timesteps;
  progress_->evaluation_ticks = evaluated() - evaluated_at_first_;
  if (record.total_timesteps) progress_->total_timesteps = record.total_timesteps;
  if (record.is_baseline && !progress_->baseline_timesteps) progress_->baseline_timesteps = record.timesteps;
  set_cell();
}

void Sweep::note_task(StreamReader& reader) {
  uint32_t id = reader.task().operation;
  if ((tables_.knows_name(id) || learn_name(id)) && tables_.name(id).kind == NameKind::kOperation) {
    tasks_.add(reader.task());
  } else {
    reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of operations");
  }
}

// Of a thread that makes samples, one begins with its outermost operation, or where the sample before it was complete.
void Sweep::note_sample(Thread& thread, StreamReader& reader) {
  SampleEnd sample = reader.sample();
  if (!(tables_.knows_name(sample.name) || learn_name(sample.name)) || tables_.name(sample.name).kind != NameKind::kOperation) {
    reader.reject("the name with id " + std::to_string(sample.name) + " is not in the catalog's names of operations");
    return;
  }
  if (!sample.is_of_task) {
    sample.elapsed_ticks = thread.sample_since == kNever ? 0 : now_ - thread.sample_since;
    thread.sample_since = thread.scope ? now_ : kNever;
  }
  samples_.add(sample, now_, worked_ticks());
}

void Sweep::note_collective(StreamReader& reader) {
  uint32_t id = reader.collective().name;
  bool is_known = tables_.knows_name(id) || learn_name(id);
  if (!is_known || tables_.name(id).kind != NameKind::kBoundary || tables_.name(id).category != kWait) {
    reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of waits");
    return;
  }
  collectives_.add(reader.collective(), reader.ticks());
}

}  // namespace rlscope
