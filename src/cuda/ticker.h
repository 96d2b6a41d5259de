// A thread of our own that does something once a second, and whenever it is woken: fetch and read CUPTI's records.
#pragma once
#include <pthread.h>

namespace rlscope::cuda {

class Ticker {
 public:
  Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  using Tick = void (*)(void* argument, bool is_due);  // is_due: a second is over

  // Calls `tick` from now on, on a thread that takes no signal. Does nothing while it runs. An errno, 0 for success.
  int start(Tick tick, void* argument);
  void wake();
  // Returns when the thread has ended. False where it hangs: then it is left behind.
  bool stop();

 private:
  static void* run(void* ticker);

  pthread_mutex_t mutex_;  // guards is_stopping_ and is_awake_
  pthread_cond_t changed_;
  bool is_stopping_ = false;
  bool is_awake_ = false;
  bool is_running_ = false;  // touched by the owner only
  pthread_t thread_{};
  Tick tick_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace rlscope::cuda
