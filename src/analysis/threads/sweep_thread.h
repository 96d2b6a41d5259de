// A thread as the sweep goes through its records.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "breakdown_cells.h"
#include "correction.h"
#include "cpu_time_table.h"
#include "detail.h"
#include "native_call_table.h"
#include "sweep_tables.h"
#include "trace_reader.h"

namespace rlscope {

struct Frame {
  uint64_t saved;  // what the end restores: the boundary, the scope, or the key of the open phase
  uint32_t id;
  uint32_t began;  // the lower half of the tick
};

constexpr uint64_t kNever = ~uint64_t{0};  // later than any record

// A boundary's category and, above it, the number of a wait; with detail that of any boundary.
constexpr unsigned kWaitShift = FunctionPlace::kFunctionShift;
constexpr uint64_t kFirstWait = 1 << kWaitShift;

// An open boundary whose end matters: a CUDA call that waits for a device, or a native call in which a stack was seen.
constexpr size_t kNoFrame = ~size_t{0};
struct WatchedCall {
  size_t frame;  // its place among the thread's
  uint64_t since;
  Scope scope;
  uint32_t function;  // of the call in which a stack was seen
  uint32_t stack;
  SyncSum* sync;  // of the CUDA call; null: the other
  std::optional<uint32_t> phase;  // in which it was seen; none: the process's time was another thread's
};

// The CUDA call that ended last of those that wait.
struct LastSync {
  SyncSum* sum = nullptr;  // null: none did
  uint64_t since = 0;
  size_t function = kNoFrame;  // the place of the native call around it, its own where there is none
};

// A std::vector's push_back builds the frame elsewhere and copies it, which costs a quarter of the sweep's time.
class FrameStack {
 public:
  void push(uint64_t saved, uint32_t id, uint64_t now) {
    if (__builtin_expect(depth_ == frames_.size(), 0)) frames_.resize(2 * depth_ + kFirstFrames);
    frames_[depth_].saved = saved;
    frames_[depth_].id = id;
    frames_[depth_].began = static_cast<uint32_t>(now);
    depth_++;
  }
  const Frame& pop() { return frames_[--depth_]; }
  size_t depth() const { return depth_; }
  const Frame& operator[](size_t index) const { return frames_[index]; }

 private:
  static constexpr size_t kFirstFrames = 16;
  std::vector<Frame> frames_;
  size_t depth_ = 0;
};

// Of a gap.
struct AbsentParts {
  uint64_t waiting_ticks = 0;
  uint64_t queued_ticks = 0;  // without a core
};

// The category of a thread that has no core, by the one in which it would run.
constexpr uint8_t without_core(uint8_t category) { return static_cast<uint8_t>(kNoCore + category); }

// A gap between two records of a thread, for parts of which it waited, and had no core. When, nobody knows, so it is taken to
// have done all evenly: after half of the gap it was absent for half of those ticks, rounded down, and had no core for its
// share of these, rounded down. So neither what it ran, nor waited, nor had no core ever becomes less.
struct PartlyAbsent {
  uint64_t start_ticks;
  uint64_t ticks;
  AbsentParts parts;
  uint64_t boundary;  // the thread's, in which it ran for the rest

  bool runs() const { return parts.waiting_ticks + parts.queued_ticks < ticks; }
  // A part of the time is another one's than what the thread is taken to do now.
  bool is_shared() const { return runs() || has_queued_part(); }
  uint8_t category() const { return static_cast<uint8_t>(boundary); }
  uint8_t queued_category() const { return without_core(category()); }
  uint64_t ran_between(uint64_t from, uint64_t to) const { return ran_until(to) - ran_until(from); }
  // Without a core, where the thread is taken to wait.
  uint64_t queued_between(uint64_t from, uint64_t to) const { return queued_until(to) - queued_until(from); }
  // Without a core, from its start on.
  uint64_t no_core_until(uint64_t now) const { return parts.waiting_ticks > 0 ? queued_until(now) : absent_until(now); }

 private:
  bool has_queued_part() const { return parts.waiting_ticks > 0 && parts.queued_ticks > 0; }
  uint64_t elapsed_at(uint64_t now) const { return now > start_ticks ? std::min(now - start_ticks, ticks) : 0; }
  uint64_t absent_ticks() const { return parts.waiting_ticks + parts.queued_ticks; }
  uint64_t absent_until(uint64_t now) const { return part_of(elapsed_at(now), absent_ticks(), ticks); }
  uint64_t ran_until(uint64_t now) const { return elapsed_at(now) - absent_until(now); }
  uint64_t queued_until(uint64_t now) const {
    return has_queued_part() ? part_of(absent_until(now), parts.queued_ticks, absent_ticks()) : 0;
  }
  static uint64_t part_of(uint64_t elapsed, uint64_t part, uint64_t whole) {
    uint64_t product;
    if (!__builtin_mul_overflow(elapsed, part, &product)) return product / whole;
    using Wide = unsigned __int128;  // of a gap of half a minute
    return static_cast<uint64_t>(Wide{elapsed} * part / whole);
  }
};

// When an operation began, and for how long until then its thread had had no core.
struct OperationStart {
  uint64_t ticks;
  uint64_t no_core_ticks;
};

struct Thread {
  Thread(uint32_t stream, bool is_main) : stream(stream), is_main(is_main), runs_python(is_main) {}

  bool takes_part() const { return is_main || boundaries > 0 || scope != 0; }
  uint8_t category() const { return static_cast<uint8_t>(boundary); }
  // In a gap the one in which it ran.
  uint8_t running_category() const { return gap ? gap->category() : category(); }
  uint64_t no_core_until(uint64_t now) const { return no_core_ticks + (gap ? gap->no_core_until(now) : 0); }
  // The boundary in which it ran, waited or had no core with this category.
  uint64_t boundary_of(uint8_t category) const { return gap && category != this->category() ? gap->boundary : boundary; }

  uint32_t stream;
  bool is_main;
  bool runs_python;  // false until something shows that this thread does not just get called back by native code
  // The innermost: its category and, where it carries it, its number; in a gap that is blocked, that wait's.
  uint64_t boundary = 0;
  bool is_fresh = true;  // no chunk was seen yet
  Scope scope = 0;                            // its own; 0: it has the main thread's
  uint64_t boundaries = 0;                    // open boundary frames
  // In an operation of its own, and not waiting for another thread; known while there are several.
  bool is_busy = false;
  bool was_in_operation = false;
  uint64_t sample_since = kNever;  // when its sample was begun, where it makes any; kNever: not known
  LoopMark outermost = LoopMark::kOperation;  // which its outermost operation is, while it is in one
  size_t slot = 0;                            // its place among the threads, by stream
  uint64_t events = 0;
  FrameStack frames;
  std::vector<WatchedCall> watched;  // outermost first
  size_t watched_frame = kNoFrame;   // of the last of these
  LastSync last_sync;
  std::vector<OperationStart> operation_starts;  // of the open operations
  std::optional<StreamReader> reader;
  std::optional<PartlyAbsent> gap;
  uint64_t no_core_ticks = 0;  // in gaps that have ended
  UnreadTime unread;           // of its CPU
  uint64_t charged_until = 0;  // by_thread only
  Debt debt;                   // with costs only
};

}  // namespace rlscope
