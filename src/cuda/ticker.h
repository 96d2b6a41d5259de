// A thread of our own that does something once a second: records must be fetched from CUPTI.
#pragma once
#include <pthread.h>

namespace rlscope::cuda {

class Ticker {
 public:
  Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Calls `tick(argument)` every second from now on, on a thread that takes no signal. Does nothing while it runs.
  // An errno, 0 for success.
  int start(void (*tick)(void*), void* argument);
  // Returns when the thread has ended. False where it hangs: then it is left behind.
  bool stop();

 private:
  static void* run(void* ticker);

  pthread_mutex_t mutex_;  // guards is_stopping_
  pthread_cond_t changed_;
  bool is_stopping_ = false;
  bool is_running_ = false;  // touched by the owner only
  pthread_t thread_{};
  void (*tick_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace rlscope::cuda
