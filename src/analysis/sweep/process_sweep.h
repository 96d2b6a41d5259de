// One sweep over one process: what the sources beside it share, and what runs at every record.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "collective_table.h"
#include "correction.h"
#include "decode_ahead.h"
#include "detail.h"
#include "device_timeline.h"
#include "line_table.h"
#include "memory_table.h"
#include "native_call_table.h"
#include "sample_table.h"
#include "stack_reader.h"
#include "sweep_options.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "sweep_thread.h"
#include "task_table.h"
#include "tournament.h"
#include "trace_file.h"
#include "trace_reader.h"

namespace rlscope {

// Who owns an instant: the lower the sooner. By whether the thread is outside any operation, and by its category.
constexpr uint64_t kOwnerRank[2][kCategories] = {{0, 1, 3, 2, 9, 8}, {4, 5, 7, 6, 11, 10}};
constexpr auto kPython = static_cast<uint8_t>(Category::kPython);
constexpr auto kSimulator = static_cast<uint8_t>(Category::kSimulator);
constexpr auto kBackend = static_cast<uint8_t>(Category::kBackend);
constexpr auto kCuda = static_cast<uint8_t>(Category::kCuda);
constexpr auto kCudaWait = static_cast<uint8_t>(Category::kCudaWait);
constexpr auto kWait = static_cast<uint8_t>(Category::kWait);

// Only native code can be what calls CUDA or back into Python on a thread that has shown no Python of its own.
inline bool is_called_by_native_code(const SweepTables::NameState& name) {
  return name.kind == NameKind::kBoundary &&
         (name.category == kPython || name.category == kCuda || name.category == kCudaWait);
}

// A boundary's category and, above it, the number of a wait; with detail that of any boundary.
constexpr unsigned kWaitShift = FunctionPlace::kFunctionShift;
constexpr uint64_t kFirstWait = 1 << kWaitShift;
// What makes the present cell rare: a device works, or a wait is to be added up; and that detail is wanted, but neither.
constexpr uint64_t kRare = kFirstWait;
constexpr uint64_t kDetailed = kFirstWait << 1;

constexpr size_t kFewThreads = 8;
constexpr uint64_t kNever = DeviceTimeline::kNever;

// When the process ends; if that is not known, later than any record.
uint64_t end_ticks(const TraceFile& file, const SweepOptions& options);
// Where the window begins; without one, where the process does.
uint64_t since_ticks(const TraceFile& file, const SweepOptions& options);

class Sweep {
 public:
  Sweep(TraceFile& file, const SweepOptions& options);
  // Goes to where the window begins, if there is one. False: what was read before does not say all that is to be known
  // there, so a new sweep of the file is to be made, which reads more of it.
  bool reach_window();
  SweepResult run();

  // Goes on to the records at `ticks`; false once there are none left, and all time up to the end was added up.
  bool run_until(uint64_t ticks);
  uint64_t next_record_ticks() const;  // kNever: none is left
  const SweepTables& tables() const { return tables_; }

 private:
  // With detail or without: the same, but the one asks at no record what the other wants.
  template <bool kWithDetail>
  void merge(uint64_t until);
  void go_to(uint64_t ticks);
  void end();
  void activate(const StreamIndex& stream);
  template <bool kWithDetail>
  void run_thread(Thread& thread, uint64_t limit);
  template <bool kWithDetail>
  bool pass_leaf(Thread& thread, StreamReader& reader);
  bool keeps_owner(const Thread& thread, uint64_t key) const;
  bool read_next(Thread& thread) { return thread.reader->next_quickly() || read_next_slowly(thread); }
  bool read_next_slowly(Thread& thread);
  void learn_names();
  bool learn_name(uint64_t id);
  bool accepts_chunk(Thread& thread);
  void insert(size_t slot, uint32_t stream);
  void finish(size_t slot);
  void renumber();
  void meet(const StreamIndex& stream);
  bool knows_order_of_phases();
  static void forget_stacks(Thread& thread);
  void start_window();
  void watch_from_here(Thread& thread);
  uint64_t window_end() const;
  void skip_chunk(size_t slot);
  void step_devices();
  void step_stacks();

  template <bool kWithDetail>
  void apply(Thread& thread, StreamReader& reader);
  template <bool kWithDetail>
  void open(Thread& thread, uint32_t id, bool is_recorded);
  void count_call(const Thread& thread);
  void open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded);
  template <bool kWithDetail>
  void close(Thread& thread);
  static size_t frames_in_common(const Thread& thread);
  void match_open_frames(Thread& thread);
  size_t innermost_function(const Thread& thread);
  void begin_sync(Thread& thread, uint32_t id, bool is_recorded);
  void see_call(Thread& thread, uint32_t stack);
  void watch(Thread& thread, const WatchedCall& call);
  void end_watched(Thread& thread);
  void end_all_watched();
  // What a record says that opens and closes nothing.
  void note(Thread& thread, StreamReader& reader);
  void note_progress(const Progress& record);
  void note_task(StreamReader& reader);
  void note_sample(Thread& thread, StreamReader& reader);
  void note_collective(StreamReader& reader);
  // In which a device has worked for the process, up to now.
  uint64_t worked_ticks() const { return worked_ticks_ + (device_works() ? now_ - works_since_ : 0); }
  uint64_t waiting_ticks(const Thread& thread, const BlockedGap& gap) const;
  void begin_gap(Thread& thread);
  void end_gap(Thread& thread);
  uint32_t innermost_boundary(const Thread& thread);

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
  void advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id);
  void advance_slowly(uint64_t ticks);
  template <typename OnShare>
  void share_time(uint64_t until, OnShare on_share);
  void detail_time(uint64_t until);
  void give(Thread& thread, uint8_t category, uint64_t ticks);

  Scope scope_of(const Thread& thread) const { return thread.scope ? thread.scope : main_->scope; }
  uint64_t key_of(const Thread& thread, uint8_t category) const {
    return kOwnerRank[scope_of(thread) == 0][category] << 32 | thread.slot;
  }
  uint64_t owner_key(const Thread& thread) const {
    uint64_t key = key_of(thread, thread.category());
    return thread.takes_part() ? key : kNever;
  }
  void sort_sharing();
  // Of a thread that runs for a part of a gap.
  bool comes_before_owner(const Thread& thread) const { return key_of(thread, thread.gap->category()) <= owner_key(*owner_); }
  bool has_part(const Thread& thread) const;
  BreakdownPlace place_of(const Thread& thread, uint8_t category) const;
  template <bool kWithDetail = false>
  [[gnu::always_inline]] void set_cell() {
    uint64_t boundary = owner_->boundary;
    if (kWithDetail) {
      bool is_usual = cell_is_rare_ == kDetailed && owner_->category() != kWait;
      // A category is also the cell of a row, while no device works.
      if (__builtin_expect(is_usual && detail_->enter_quickly({scope_of(*owner_), boundary}, tables_.epoch(), now_), 1)) {
        cell_ = detail_->in_row();
        return;
      }
    }
    if (__builtin_expect((boundary | cell_is_rare_) >= kFirstWait, 0)) return set_rare_cell();
    cell_ = &tables_.row(scope_of(*owner_)).ticks[static_cast<uint8_t>(boundary)];
  }
  bool device_works() const { return device_cells_ != 0; }
  bool is_launchs() const { return device_works() && options_.gpu_attribution == GpuAttribution::kLaunch; }
  void set_rare_cell();
  static FunctionPlace function_place(const BreakdownPlace& place, uint64_t boundary) {
    return {place.scope, boundary - static_cast<uint8_t>(boundary) + place.cell};
  }
  WaitSum& wait_sum(uint32_t number);
  IdleDoing doing_of(const Thread& thread, uint8_t category) const;
  void wait_changed();
  template <bool kWithDetail = false>
  void thread_changed(Thread& thread);
  void mark_loop(LoopMark mark);
  void note_busy(Thread& thread);
  void set_scope(Thread& thread, Scope scope);
  void phases_changed();
  // Ticks in the phase `evaluation` so far.
  uint64_t evaluated() const { return evaluated_ + (tables_.evaluates() ? now_ - evaluated_until_ : 0); }
  void choose_owner();
  void charge(Thread& thread);
  void charge_all();

  SweepResult result();

  TraceFile& file_;
  SweepOptions options_;
  std::optional<Correction> correction_;
  std::optional<Detail> detail_;
  bool is_always_observed_;  // something is to be done at each record besides adding up
  bool is_observed_;         // the same, or the time is shared
  uint64_t first_numbered_;  // the first category of which boundaries carry their numbers
  bool has_devices_;         // which work for the process, or may
  bool has_several_devices_;
  size_t window_bytes_;
  size_t most_rows_;  // of threads, and of waits
  uint64_t latest_;  // a record after it can only be damage
  uint64_t since_;   // from when on time and events count
  bool catalog_is_final_ = false;
  SweepTables tables_;

  std::optional<DecodeAhead> ahead_;              // decodes what threads_ read, so it has to outlive them
  std::vector<const StreamIndex*> pending_;       // not yet begun, the latest first
  std::vector<std::unique_ptr<Thread>> threads_;  // by stream number, so that a tie goes to the lower one
  Tournament next_ticks_;                         // of threads_; kNever: no more records
  std::vector<uint64_t> owner_keys_;              // of threads_; the smallest is the owner's; kNever: takes no part
  Thread* main_;
  Thread* owner_;                 // of what the threads below leave
  std::vector<Thread*> sharing_;  // those that run for a part of a gap, in the order in which they own
  bool has_native_threads_ = false;  // a thread that runs no Python has called CUDA, or back into Python
  // When, and on which stream, one did so first in the chunks that are not read; and the streams that show Python there.
  std::pair<uint64_t, uint32_t> native_call_{kNever, 0};
  std::set<uint32_t> python_streams_;
  OpenPhases open_phases_;  // in the order in which they began
  uint64_t phases_opened_ = 0;
  uint32_t phase_ = 0;
  uint64_t evaluated_ = 0, evaluated_until_ = 0;  // in the phase `evaluation`, up to the last change of phase
  uint64_t evaluated_at_first_ = 0;               // report of progress
  size_t device_cells_ = 0;  // of rows, by what the devices do: 0, kDeviceComputes or kDeviceCommunicates
  uint64_t working_ = 0;  // which ones, as in IdleRow
  uint64_t worked_ticks_ = 0, works_since_ = 0;  // up to the last change of device_cells_
  uint64_t now_;
  uint64_t end_;
  uint64_t last_ticks_;
  uint64_t* cell_;
  WaitSum* wait_sum_ = nullptr;  // to which the time since wait_since_ belongs, while the process waits
  uint64_t wait_since_ = 0;
  IdleDoing doing_{};       // since then
  bool adds_idle_ = false;  // the same: the time is to be added up by what the process does
  size_t busy_ = 0;  // threads, while there are several
  uint64_t beside_ticks_ = 0;
  uint64_t beside_since_ = 0;  // while more than one is busy
  uint64_t threads_in_operations_ = 0;
  // kRare, kDetailed or 0. With a boundary's number it is at least kFirstWait, so that one look finds all.
  uint64_t cell_is_rare_ = 0;
  std::map<uint32_t, StreamSummary> streams_;
  std::optional<ProgressSummary> progress_;
  TaskTable tasks_;
  SampleTable samples_;
  CollectiveTable collectives_;
  StackReader stacks_;
  uint64_t stack_ticks_ = kNever;  // of the next one that was seen
  LineTable lines_;
  MemoryTable memory_;
  NativeCallTable native_calls_;

  std::optional<DeviceTimeline> devices_;
  uint64_t device_ticks_ = kNever;  // when something starts or ends on a device
  Scope launch_scope_ = 0;          // of the earliest started work, while a device works
};

inline void Sweep::choose_owner() {
  uint64_t best = owner_keys_[0];
  for (size_t slot = 1; slot < owner_keys_.size(); slot++) best = std::min(best, owner_keys_[slot]);
  owner_ = threads_[static_cast<uint32_t>(best)].get();
}

// To be called whenever a thread may have become busy or ceased to be.
inline void Sweep::note_busy(Thread& thread) {
  bool is_busy = thread.scope != 0 && !tables_.is_for_thread(thread.boundary >> kWaitShift);
  if (is_busy == thread.is_busy) return;
  if (busy_ > 1) beside_ticks_ += now_ - beside_since_;
  beside_since_ = now_;
  thread.is_busy = is_busy;
  if (is_busy) {
    busy_++;
  } else {
    busy_--;
  }
}

// While there is only one thread its key is not needed, so not kept.
template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::thread_changed(Thread& thread) {
  if (owner_keys_.size() > 1) {
    uint64_t before = owner_keys_[thread.slot];
    uint64_t key = owner_key(thread);
    owner_keys_[thread.slot] = key;
    note_busy(thread);
    // Among few, looking at all is cheaper than branches that depend on how the threads interleave.
    if (owner_keys_.size() <= kFewThreads || (&thread == owner_ && key > before)) {
      choose_owner();
    } else if (key < owner_keys_[owner_->slot]) {
      owner_ = &thread;
    }
  }
  set_cell<kWithDetail>();
}

// Of the boundary that the thread is in now. Where the process's time goes there too, its cell is at hand.
inline void Sweep::count_call(const Thread& thread) {
  if (__builtin_expect(&thread == owner_ && cell_is_rare_ == kDetailed, 1)) {
    detail_->count_call_here();
  } else {
    detail_->count_call({scope_of(thread), thread.boundary + device_cells_});
  }
}

// Whether the owner is the same while the thread, of several, has this key.
inline bool Sweep::keeps_owner(const Thread& thread, uint64_t key) const {
  if (&thread != owner_) return key > owner_keys_[owner_->slot];
  for (size_t slot = 0; slot < owner_keys_.size(); slot++) {
    if (owner_keys_[slot] < key && slot != thread.slot) return false;
  }
  return true;
}

// A boundary that ends with the next record, where that changes nothing but times and counts: no frame is pushed for it.
template <bool kWithDetail>
[[gnu::always_inline]] inline bool Sweep::pass_leaf(Thread& thread, StreamReader& reader) {
  uint32_t id = reader.id();
  if (__builtin_expect(!tables_.knows_name(id), 0)) return false;
  SweepTables::NameState& name = tables_.name(id);
  if (__builtin_expect(name.kind != NameKind::kBoundary || name.category >= kWait, 0)) return false;
  if (thread.category() >= kWait || !(thread.runs_python || thread.boundaries > 0)) return false;
  if (owner_keys_.size() > 1 && !keeps_owner(thread, key_of(thread, name.category))) return false;
  name.count++;
  thread.events++;
  advance(reader.ticks());
  Scope scope = scope_of(thread);
  if (thread.category() != name.category) tables_.count_transition(scope, thread.category(), name.category);
  uint64_t outer = thread.boundary;
  uint64_t* outer_cell = cell_;
  if (kWithDetail) {
    thread.boundary = name.category | uint64_t{name.number} << kWaitShift;
    if (&thread == owner_) set_cell<true>();
    count_call(thread);
    thread.boundary = outer;
  } else if (&thread == owner_) {
    cell_ = &tables_.row(scope).ticks[name.category];
  }
  reader.next_quickly();
  advance(reader.ticks());
  cell_ = outer_cell;
  if (kWithDetail && &thread == owner_) set_cell<true>();
  return true;
}

// Where a device works and the process waits, the time can be that of the operation which launched the work.
inline BreakdownPlace Sweep::place_of(const Thread& thread, uint8_t category) const {
  Scope scope = is_launchs() && is_blocked(category) ? launch_scope_ : scope_of(thread);
  return {phase_, scope, static_cast<uint8_t>(category + device_cells_)};
}

}  // namespace rlscope
