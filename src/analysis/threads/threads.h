// The threads of a process whose records are gone through, in order of their streams, and whose record is next.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decode_ahead.h"
#include "sweep_result.h"
#include "sweep_thread.h"
#include "tournament.h"
#include "trace_file.h"

namespace rlscope {

class Threads {
 public:
  // All windows together have `window_bytes`.
  Threads(TraceFile& file, size_t window_bytes, bool decodes_ahead);

  Thread& main() const { return *main_; }
  std::vector<Thread*> in_order() const;
  Thread* find(uint64_t thread_id);  // the operating system's; null: none has it

  uint64_t next_begin_ticks() const { return pending_.empty() ? kNever : pending_.back()->first_ticks; }
  uint64_t next_record_ticks() const { return next_ticks_.smallest(); }  // of threads that have begun
  // The one with the next record, and when another one's turn comes. At the same tick the lower stream is first.
  std::pair<Thread*, uint64_t> next() const {
    auto [first, limit] = next_ticks_.find();
    return {threads_[first].get(), std::min(limit, next_begin_ticks())};
  }
  // Begins the next stream, before its first record; others may have another slot then.
  Thread& begin();
  // The thread's reader stands at a record that is to be taken later.
  void wait(const Thread& thread) { next_ticks_.set(thread.slot, thread.reader->ticks()); }
  // The thread has no more records. Null: it ended with frames open, and keeps its place to the end.
  std::unique_ptr<Thread> end(Thread& thread);
  // No more records are taken.
  void stop();

  uint64_t last_ticks() const { return last_ticks_; }  // of the latest record
  std::vector<SweptStream> streams() const;
  void forget_events();

 private:
  void renumber();

  TraceFile& file_;
  size_t window_bytes_;                           // of each
  std::optional<DecodeAhead> ahead_;              // decodes what threads_ read, so it has to outlive them
  std::vector<const StreamIndex*> pending_;       // not yet begun, the latest first
  std::vector<std::unique_ptr<Thread>> threads_;  // by stream number, so that a tie goes to the lower one
  Tournament next_ticks_;                         // of threads_; kNever: no more records
  Thread* main_;
  uint64_t last_ticks_;
  std::map<uint32_t, SweptStream> streams_;
};

}  // namespace rlscope
