// Where a sweep of the last part of a recording begins: what is known there of what lies before it.
#include <algorithm>

#include "process_sweep.h"
#include "sweep.h"

namespace rlscope {
namespace {

constexpr size_t kWindowBytes = 8 << 10;

}  // namespace

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

bool Sweep::reach_window() {
  if (since_ == file_.header().start_ticks) return true;
  for (const auto& [number, stream] : file_.streams()) {
    if (stream.first_chunk > 0) meet(stream);
  }
  go_to(since_);
  if (!knows_order_of_phases()) return false;
  start_window();
  return true;
}

// The first frame that a thread opens shows whether native code has called it; the chunks that are left out begin with it.
void Sweep::meet(const StreamIndex& stream) {
  if (stream.stream == main_->stream) return;
  StreamReader reader(file_, stream, kWindowBytes);
  while (reader.next() && reader.ticks() <= stream.first_ticks) {
    uint64_t id = 0;
    if (reader.is_begin()) id = reader.id();
    if (reader.type() == RecordType::kChunkStart && !reader.chunk_start().open_frames.empty()) id = reader.chunk_start().open_frames[0];
    if (id == 0) continue;
    if (!tables_.knows_name(id)) return;
    if (is_called_by_native_code(tables_.name(static_cast<uint32_t>(id)))) {
      native_call_ = std::min(native_call_, std::pair(reader.ticks(), stream.stream));
    } else {
      python_streams_.insert(stream.stream);
    }
    return;
  }
}

// Of phases that are open on one thread, the outer one began first. On several threads all that are open must have been
// seen to begin. A thread of which some were not begins with an earlier chunk.
bool Sweep::knows_order_of_phases() {
  std::set<uint32_t> streams, guessed;
  for (const auto& [order, phase] : open_phases_) {
    streams.insert(phase.stream);
    if (!phase.is_recorded) guessed.insert(phase.stream);
  }
  if (streams.size() < 2) return true;
  bool is_known = true;
  for (uint32_t stream : guessed) is_known &= !file_.start_earlier(stream);
  return is_known;
}

// A window of a process that still records ends before it does: what is recorded from there on belongs to the next one.
uint64_t Sweep::window_end() const {
  bool ends_early = options_.since_ticks && options_.limit_ticks && !file_.header().stop_ticks;
  return ends_early ? end_ : kNever;
}

// Of a call that is open where the window begins, a stack that was seen before may lie in chunks that are not read.
void Sweep::forget_stacks(Thread& thread) {
  std::vector<WatchedCall>& calls = thread.watched;
  calls.erase(std::remove_if(calls.begin(), calls.end(), [](const WatchedCall& call) { return !call.sync; }), calls.end());
  thread.watched_frame = calls.empty() ? kNoFrame : calls.back().frame;
}

// Forgets what was added up, but not what is open.
void Sweep::start_window() {
  advance_slowly(since_);
  wait_changed();
  if (options_.by_thread) charge_all();
  tables_.start_at(now_, open_phases_);
  tasks_ = {};
  lines_ = {};
  memory_ = {};
  native_calls_.clear();
  progress_.reset();
  evaluated_ = 0;
  evaluated_until_ = now_;
  beside_ticks_ = 0;
  beside_since_ = now_;
  threads_in_operations_ = 0;
  for (auto& [number, stream] : streams_) stream.events = 0;
  for (const auto& thread : threads_) {
    thread->events = 0;
    thread->last_sync = {};
    forget_stacks(*thread);
    watch_from_here(*thread);
    thread->was_in_operation = thread->scope != 0;
    threads_in_operations_ += thread->was_in_operation;
    if (thread->was_in_operation) mark_loop(thread->outermost);
  }
  set_cell();
}

// Open calls belong to the operation in which they are found: where they began, the main thread's may not have been read.
void Sweep::watch_from_here(Thread& thread) {
  for (WatchedCall& call : thread.watched) {
    call.since = std::max(call.since, now_);
    call.scope = scope_of(thread);
    if (call.sync) call.sync = &native_calls_.sync({call.scope, call.function, thread.frames[call.frame].id});
  }
}

}  // namespace rlscope
