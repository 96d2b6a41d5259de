// Where a sweep of the last part of a recording begins: what is known there of what lies before it.
#include <algorithm>

#include "process_sweep.h"
#include "sweep.h"

namespace rlscope {

uint64_t end_ticks(const TraceFile& file, const SweepOptions& options) {
  const FileHeader& header = file.header();
  uint64_t end = header.stop_ticks ? header.stop_ticks : options.limit_ticks;
  return end ? std::max(end, header.start_ticks) : file.latest_ticks();
}

uint64_t since_ticks(const TraceFile& file, const SweepOptions& options) {
  return std::clamp(options.since_ticks, file.header().start_ticks, end_ticks(file, options));
}

SweepResult sweep(TraceFile& file, const SweepOptions& options) {
  if (options.since_ticks > file.header().start_ticks) file.start_at(since_ticks(file, options));
  for (;;) {
    Sweep sweep(file, options);
    if (sweep.reach_window()) return sweep.run();
  }
}

bool Sweep::is_window() const { return since_ticks(file_, options_) > file_.header().start_ticks; }

bool Sweep::reach_window() {
  if (!is_window()) return true;
  for (const auto& [number, stream] : file_.streams()) {
    bool is_main = number == threads_.main().stream;
    if (stream.first_chunk > 0 && !is_main) native_threads_.meet(file_, stream, tables_);
  }
  merge_until(since_ticks(file_, options_));
  // A thread of which some phases were not seen to begin begins with an earlier chunk.
  bool is_known = true;
  for (uint32_t stream : phases_.streams_of_unknown_order()) is_known &= !file_.start_earlier(stream);
  if (is_known) start_window();
  return is_known;
}

// A window of a process that still records ends before it does: what is recorded from there on belongs to the next one.
uint64_t Sweep::window_end() const {
  bool ends_early = options_.since_ticks && options_.limit_ticks && !file_.header().stop_ticks;
  return ends_early ? end_ticks(file_, options_) : kNever;
}

// Forgets what was added up, but not what is open.
void Sweep::start_window() {
  uint64_t since = since_ticks(file_, options_);
  time_.advance_slowly(since);
  time_.wait_changed();
  time_.charge_all();
  phases_.start_at(since);
  reports_.forget();
  stacks_.forget();
  threads_.forget_events();
  busy_.start_at(since, owner_.threads(), tables_);
  for (Thread* thread : owner_.threads()) {
    stacks_.go_on(*thread, owner_.scope_of(*thread), since);
    if (!tables_.is_outside(thread->scope)) time_.mark_loop(thread->outermost, true);
  }
  set_cell();
}

}  // namespace rlscope
