// Calls whose end matters: those of CUDA that wait for a device, and native calls in which a stack was seen.
#include <algorithm>
#include <string>

#include "process_sweep.h"

namespace rlscope {

// The place of the innermost boundary that is no CUDA call; kNoFrame: there is none.
size_t Sweep::innermost_function(const Thread& thread) {
  for (size_t i = thread.frames.depth(); i > 0; i--) {
    const SweepTables::NameState& name = tables_.name(thread.frames[i - 1].id);
    bool is_cuda = name.category == kCuda || name.category == kCudaWait;
    if (name.kind == NameKind::kBoundary && !is_cuda) return i - 1;
  }
  return kNoFrame;
}

// Of calls within each other, such as a driver's in one of the runtime's, the outer one counts.
void Sweep::begin_sync(Thread& thread, uint32_t id, bool is_recorded) {
  if (thread.category() == kCudaWait) return;
  size_t function = innermost_function(thread);
  SyncPlace place{scope_of(thread), function == kNoFrame ? 0 : thread.frames[function].id, id};
  SyncSum& sum = native_calls_.sync(place);
  sum.count += is_recorded;
  watch(thread, {thread.frames.depth(), now_, place.scope, place.function, 0, &sum});
}

// The first stack that is seen in a call counts: the thread has no other one before the call ends. A CUDA call in no other
// call was made by Python itself.
void Sweep::see_call(Thread& thread, uint32_t stack) {
  size_t function = innermost_function(thread);
  for (size_t i = 0; i < thread.frames.depth() && function == kNoFrame; i++) {
    if (tables_.name(thread.frames[i].id).kind == NameKind::kBoundary) function = i;
  }
  if (function == kNoFrame) return;
  const Frame& frame = thread.frames[function];
  if (tables_.name(frame.id).category == kPython) return;
  auto is_it = [&](const WatchedCall& call) { return call.frame == function && !call.sync; };
  if (std::any_of(thread.watched.begin(), thread.watched.end(), is_it)) return;
  uint64_t since = now_ - static_cast<uint32_t>(static_cast<uint32_t>(now_) - frame.began);
  watch(thread, {function, std::max(since, since_), scope_of(thread), frame.id, stack, nullptr});
}

void Sweep::watch(Thread& thread, const WatchedCall& call) {
  auto is_outside = [](const WatchedCall& a, const WatchedCall& b) { return a.frame < b.frame; };
  thread.watched.insert(std::lower_bound(thread.watched.begin(), thread.watched.end(), call, is_outside), call);
  thread.watched_frame = thread.watched.back().frame;
  if (native_calls_.rows() > most_rows_) {
    file_.refuse("it has more than " + std::to_string(most_rows_) +
                 " native calls in operations, which cannot be for a file of its size; record the run again");
  }
}

// The frame that the thread has no more may be both: a CUDA call that waits, and in which a stack was seen.
void Sweep::end_watched(Thread& thread) {
  size_t frame = thread.watched_frame;
  while (thread.watched_frame == frame) {
    WatchedCall call = thread.watched.back();
    thread.watched.pop_back();
    thread.watched_frame = thread.watched.empty() ? kNoFrame : thread.watched.back().frame;
    if (call.sync) {
      call.sync->ticks += now_ - call.since;
      size_t function = innermost_function(thread);
      thread.last_sync = {call.sync, call.since, function == kNoFrame ? frame : function};
      continue;
    }
    const LastSync& last = thread.last_sync;
    bool waited = last.sum && last.function == call.frame && last.since >= call.since;
    native_calls_.add_call(call.scope, call.function, call.stack, now_ - call.since, waited ? last.sum : nullptr);
  }
}

// What is open where the process ends took until then. To be called when the frames are not needed any more.
void Sweep::end_all_watched() {
  for (const auto& thread : threads_) {
    while (!thread->watched.empty()) {
      while (thread->frames.depth() > thread->watched_frame) thread->frames.pop();
      end_watched(*thread);
    }
  }
}

}  // namespace rlscope
