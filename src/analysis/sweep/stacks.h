// The stacks that threads were seen with: which lines had the time, made native calls, and waited for a device there. Rules
// 13 and 14 of docs/analysis.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "line_table.h"
#include "native_call_table.h"
#include "row_limit.h"
#include "stack_reader.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "sweep_thread.h"

namespace rlscope {

class Stacks {
 public:
  // Calls count from `since` on.
  Stacks(TraceFile& file, const SweepTables& tables, const RowLimit& limit, uint64_t since);

  uint64_t next_ticks() const { return next_ticks_; }  // when the next one was seen; kNever: none is left
  SeenStack take();

  LineTable& lines() { return lines_; }
  // A stack was seen while the thread was in a native call; in which phase, if the process's time was the thread's.
  void see_call(Thread& thread, Scope scope, std::optional<uint32_t> phase, uint32_t stack, uint64_t now);
  // The thread begins a CUDA call that waits for a device, of this name.
  void begin_sync(Thread& thread, Scope scope, uint32_t id, bool is_recorded, uint64_t now);
  // It ends a frame that is watched.
  void end_call(Thread& thread, uint64_t now);

  // Begins again with nothing; calls that are open go on, those of each thread in the scope that it has `now`.
  void forget();
  void go_on(Thread& thread, Scope scope, uint64_t now);

  // At the end, up to which what is open took. The threads' frames are lost.
  void write(const std::vector<Thread*>& threads, uint64_t now, SweepResult& result);

 private:
  size_t innermost_function(const Thread& thread) const;
  void watch(Thread& thread, const WatchedCall& call);

  const TraceFile& file_;
  const SweepTables& tables_;
  const RowLimit& limit_;
  uint64_t since_;
  StackReader reader_;
  uint64_t next_ticks_ = kNever;
  LineTable lines_;
  NativeCallTable calls_;
};

}  // namespace rlscope
