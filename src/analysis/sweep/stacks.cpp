// Calls whose end matters: those of CUDA that wait for a device, and native calls in which a stack was seen.
#include "stacks.h"

#include <algorithm>

namespace rlscope {

Stacks::Stacks(TraceFile& file, const SweepTables& tables, const RowLimit& limit, uint64_t since)
    : file_(file), tables_(tables), limit_(limit), since_(since), reader_(file), calls_(file.header()) {
  take();
}

SeenStack Stacks::take() {
  SeenStack seen = reader_.seen();
  next_ticks_ = reader_.next() ? reader_.seen().ticks : kNever;
  return seen;
}

// The place of the innermost boundary that is no CUDA call; kNoFrame: there is none.
size_t Stacks::innermost_function(const Thread& thread) const {
  for (size_t i = thread.frames.depth(); i > 0; i--) {
    const SweepTables::NameState& name = tables_.name(thread.frames[i - 1].id);
    bool is_cuda = name.category == kCuda || name.category == kCudaWait;
    if (name.kind == NameKind::kBoundary && !is_cuda) return i - 1;
  }
  return kNoFrame;
}

// Of calls within each other, such as a driver's in one of the runtime's, the outer one counts.
void Stacks::begin_sync(Thread& thread, Scope scope, uint32_t id, bool is_recorded, uint64_t now) {
  if (thread.category() == kCudaWait) return;
  size_t function = innermost_function(thread);
  SyncPlace place{scope, function == kNoFrame ? 0 : thread.frames[function].id, id};
  SyncSum& sum = calls_.sync(place);
  sum.calls += is_recorded;
  watch(thread, {thread.frames.depth(), now, place.scope, place.function, 0, &sum, std::nullopt});
}

// The first stack that is seen in a call counts: the thread has no other one before the call ends. A CUDA call in no other
// call was made by Python itself.
void Stacks::see_call(Thread& thread, Scope scope, std::optional<uint32_t> phase, uint32_t stack, uint64_t now) {
  size_t function = innermost_function(thread);
  for (size_t i = 0; i < thread.frames.depth() && function == kNoFrame; i++) {
    if (tables_.name(thread.frames[i].id).kind == NameKind::kBoundary) function = i;
  }
  if (function == kNoFrame) return;
  const Frame& frame = thread.frames[function];
  if (tables_.name(frame.id).category == kPython) return;
  auto is_it = [&](const WatchedCall& call) { return call.frame == function && !call.sync; };
  if (std::any_of(thread.watched.begin(), thread.watched.end(), is_it)) return;
  uint64_t since = now - static_cast<uint32_t>(static_cast<uint32_t>(now) - frame.began);
  watch(thread, {function, std::max(since, since_), scope, frame.id, stack, nullptr, phase});
}

void Stacks::watch(Thread& thread, const WatchedCall& call) {
  auto is_outside = [](const WatchedCall& a, const WatchedCall& b) { return a.frame < b.frame; };
  thread.watched.insert(std::lower_bound(thread.watched.begin(), thread.watched.end(), call, is_outside), call);
  thread.watched_frame = thread.watched.back().frame;
  limit_.check(calls_.rows(), "it has", "native calls in operations", "record the run again");
}

// The frame that the thread has no more may be both: a CUDA call that waits, and in which a stack was seen.
void Stacks::end_call(Thread& thread, uint64_t now) {
  size_t frame = thread.watched_frame;
  while (thread.watched_frame == frame) {
    WatchedCall call = thread.watched.back();
    thread.watched.pop_back();
    thread.watched_frame = thread.watched.empty() ? kNoFrame : thread.watched.back().frame;
    if (call.sync) {
      call.sync->ticks += now - call.since;
      size_t function = innermost_function(thread);
      thread.last_sync = {call.sync, call.since, function == kNoFrame ? frame : function};
      continue;
    }
    const LastSync& last = thread.last_sync;
    bool waited = last.sum && last.function == call.frame && last.since >= call.since;
    uint64_t ticks = now - call.since;
    calls_.add_call(call.scope, call.function, call.stack, ticks, waited ? last.sum : nullptr);
    if (!call.phase) continue;
    lines_.see_call(*call.phase, call.scope, call.function, calls_.stands_for(ticks), call.stack, tables_);
  }
}

void Stacks::forget() {
  lines_ = {};
  calls_.clear();
}

// Where a call that is open began, the main thread's operation may not have been read, and a stack that was seen in it may
// lie in chunks that are not read.
void Stacks::go_on(Thread& thread, Scope scope, uint64_t now) {
  std::vector<WatchedCall>& calls = thread.watched;
  calls.erase(std::remove_if(calls.begin(), calls.end(), [](const WatchedCall& call) { return !call.sync; }), calls.end());
  thread.watched_frame = calls.empty() ? kNoFrame : calls.back().frame;
  thread.last_sync = {};
  for (WatchedCall& call : calls) {
    call.since = std::max(call.since, now);
    call.scope = scope;
    call.sync = &calls_.sync({scope, call.function, thread.frames[call.frame].id});
  }
}

void Stacks::write(const std::vector<Thread*>& threads, uint64_t now, SweepResult& result) {
  result.lines = lines_.rows(file_, tables_);
  result.torn_stacks = lines_.torn();
  for (Thread* thread : threads) {
    while (!thread->watched.empty()) {
      while (thread->frames.depth() > thread->watched_frame) thread->frames.pop();
      end_call(*thread, now);
    }
  }
  result.sync_points = calls_.sync_points(file_, tables_);
  result.call_sites = calls_.call_sites(file_, tables_);
  lines_.write_stacks(file_, tables_, result);
}

}  // namespace rlscope
