// The sweep of one process: takes the records of its threads, devices and stacks in order of time, and tells its parts.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "busy_threads.h"
#include "name_catalog.h"
#include "native_threads.h"
#include "owner.h"
#include "phases.h"
#include "process_devices.h"
#include "reports.h"
#include "row_limit.h"
#include "stacks.h"
#include "sweep_options.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "sweep_thread.h"
#include "threads.h"
#include "time_attribution.h"
#include "trace_file.h"
#include "trace_reader.h"

namespace rlscope {

// When the process ends; if that is not known, later than any record.
uint64_t end_ticks(const TraceFile& file, const SweepOptions& options);
// Where the window begins; without one, where the process does.
uint64_t since_ticks(const TraceFile& file, const SweepOptions& options);

class Sweep {
 public:
  Sweep(TraceFile& file, const SweepOptions& options);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
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
  void merge_until(uint64_t ticks) { merge<false>(ticks); }
  void end();
  uint64_t last_ticks() const { return std::max(threads_.last_ticks(), devices_.timeline().last_ticks()); }
  SweepResult result();
  bool is_window() const;
  void start_window();
  uint64_t window_end() const;

  void begin_thread();
  void read_first(Thread& thread);
  template <bool kWithDetail>
  void run_thread(Thread& thread, uint64_t limit);
  template <bool kWithDetail>
  bool pass_leaf(Thread& thread, StreamReader& reader);
  bool read_next(Thread& thread) { return thread.reader->next_quickly() || read_next_slowly(thread); }
  bool read_next_slowly(Thread& thread);
  bool accepts_chunk(Thread& thread);
  void skip_chunk(Thread& thread);
  void finish(Thread& thread);
  void set_threads();
  void step_devices();
  void step_stacks();

  template <bool kWithDetail>
  void apply(Thread& thread, StreamReader& reader);
  template <bool kWithDetail>
  void open(Thread& thread, uint32_t id, bool is_recorded);
  void open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded);
  template <bool kWithDetail>
  void close(Thread& thread);
  void match_open_frames(Thread& thread);
  // What a record says that opens and closes nothing.
  void note(Thread& thread, StreamReader& reader);
  void note_tagged(Thread& thread, StreamReader& reader);
  void note_progress(const Progress& record);
  bool expect_name(StreamReader& reader, uint64_t id, NameKind kind);
  void begin_gap(Thread& thread);
  void end_gap(Thread& thread);
  uint32_t innermost_boundary(const Thread& thread);

  template <bool kWithDetail = false>
  [[gnu::always_inline]] void set_cell() {
    time_.set_cell<kWithDetail>(owner_.thread(), owner_.scope(), tables_);
  }
  template <bool kWithDetail = false>
  [[gnu::always_inline]] void thread_changed(Thread& thread) {
    if (owner_.has_several()) {
      note_busy(thread);
      owner_.thread_changed(thread);
    }
    set_cell<kWithDetail>();
  }
  void note_busy(Thread& thread) {
    bool is_busy = thread.scope != 0 && !tables_.is_for_thread(thread.boundary >> kWaitShift);
    busy_.note(thread, is_busy, time_.now());
  }
  void set_scope(Thread& thread, Scope scope);
  void phase_changes();
  void phase_changed();
  // Before its scope, the phase, or whether it waits changes.
  void pass_cpu_time(Thread& thread) {
    uint64_t now = time_.now(), since = thread.unread.since();
    if (thread.is_fresh || now == since) return;
    uint64_t ran = thread.gap ? thread.gap->ran_between(since, now) : thread.category() == kWait ? 0 : now - since;
    thread.unread.pass(now, ran);
  }
  // When they have.
  void go_on_with_cpu_time(Thread& thread) {
    if (!thread.is_fresh) thread.unread.enter(phases_.number(), thread.scope);
  }

  TraceFile& file_;
  SweepOptions options_;
  RowLimit limit_;
  uint64_t first_numbered_;  // the first category of which boundaries carry their numbers
  SweepTables tables_;
  Threads threads_;
  NativeThreads native_threads_;
  Owner owner_;
  BusyThreads busy_;
  Phases phases_;
  TimeAttribution time_;
  NameCatalog names_;
  ProcessDevices devices_;
  Stacks stacks_;
  Reports reports_;
};

}  // namespace rlscope
