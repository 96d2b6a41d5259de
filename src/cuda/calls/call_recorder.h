// Records CUDA calls from CUPTI's callbacks, on the thread that makes them.
#pragma once
#include <cupti_callbacks.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "launch_table.h"

namespace rlscope::cuda {

// Lets callbacks in while a recording runs. Ending a recording must not meet a thread that is writing a record: CUDA is
// called without the GIL. A thread says in a counter of its own that it is inside; close() makes every thread's counter
// visible with membarrier(2), so that threads need no fence, which would wait for the store into a table that is in no
// cache. Where the kernel lacks it, and for threads beyond the first 63, which share a counter, they do.
class CallbackGate {
 public:
  bool enter();
  void leave();
  void open();
  // Returns when no thread is inside; after a second anyway, should one have been stopped there by a signal.
  void close();

 private:
  static constexpr size_t kOwnCounters = 63;
  struct alignas(64) Counter {
    std::atomic<uint32_t> inside{0};
  };
  Counter& counter_of_thread();
  bool is_alone() const;

  std::atomic<bool> is_open_{false};
  std::atomic<bool> has_membarrier_{false};
  Counter counters_[kOwnCounters + 1];
};

class CallRecorder {
 public:
  explicit CallRecorder(LaunchTable& launches) : launches_(launches) {}

  void open();
  void close() { gate_.close(); }
  // What CUPTI tells of a call: `place` is the call's in kCudaCalls.
  void on_call(size_t place, const CUpti_CallbackData& data);

 private:
  void on_enter(size_t place, const CUpti_CallbackData& data);
  void on_exit(size_t place, const CUpti_CallbackData& data);

  LaunchTable& launches_;
  CallbackGate gate_;
  uint32_t recording_ = 0;  // calls that began in another recording, or were not seen to begin, do not end in this one
};

}  // namespace rlscope::cuda
