// Our place at CUPTI: what it is asked to tell us, how that is taken back, and how it leaves the process.
#pragma once
#include <string>

#include "cupti_library.h"

namespace rlscope::cuda {

// Whom CUPTI calls.
struct CuptiCallbacks {
  CUpti_CallbackFunc on_callback;
  CUpti_BuffersCallbackRequestFunc on_buffer_requested;
  CUpti_BuffersCallbackCompleteFunc on_buffer_completed;
};

// By one thread at a time.
class CuptiSubscription {
 public:
  // Everything that CUPTI must know. On an error, `function` is what gave it.
  CUptiResult subscribe(const CuptiLibrary& library, const CuptiCallbacks& callbacks, const char*& function);
  // Takes back what subscribe has done, or the part of it that succeeded; errors say that there is nothing to take back.
  void undo();
  // A process in which CUPTI has once traced makes every launch the slow way (a fifth to a quarter of a launch-bound
  // loop), until CUPTI is taken out. That is safe where a CUDA call ends, says its documentation, so we make one.
  void leave();

 private:
  CUptiResult enable_callbacks(const char*& function);

  const CuptiLibrary* library_ = nullptr;  // the one that was subscribed to
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool has_subscribed_ = false;  // since CUPTI was last taken out of the process
};

// What a result means for who reads it.
std::string explain(const CuptiLibrary& library, const char* function, CUptiResult result);

}  // namespace rlscope::cuda
