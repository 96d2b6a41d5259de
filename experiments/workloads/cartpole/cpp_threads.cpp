// CartPole on the cores of a CPU: threads that wait for steps to make, called through C functions.
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cartpole.h"

namespace {

using namespace cartpole;

using Part = std::function<void(unsigned begin, unsigned end)>;

// To wake a thread takes as long as some hundred steps do, so that fewer than so many environments are not worth one.
constexpr unsigned kFewest = 512;

// Threads that share out a range with the one that calls.
class Pool {
 public:
  explicit Pool(unsigned threads) {
    for (unsigned i = 1; i < threads; i++) others_.emplace_back([this, i] { work(i); });
  }

  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    has_work_.notify_all();
    for (std::thread& thread : others_) thread.join();
  }

  // Calls `part` with ranges that make up [0, size), in several threads; returns when all are done.
  void share_out(unsigned size, const Part& part) {
    unsigned parts = std::clamp(size / kFewest, 1u, static_cast<unsigned>(others_.size()) + 1);
    if (parts == 1) return part(0, size);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      part_ = &part;
      size_ = size;
      parts_ = parts;
      left_ = parts - 1;
      round_++;
    }
    has_work_.notify_all();
    run(part, 0, size, parts);
    std::unique_lock<std::mutex> lock(mutex_);
    is_done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  static void run(const Part& part, unsigned index, unsigned long long size, unsigned parts) {
    part(static_cast<unsigned>(size * index / parts), static_cast<unsigned>(size * (index + 1) / parts));
  }

  void work(unsigned index) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (unsigned long long seen = 0;;) {
      has_work_.wait(lock, [&] { return is_over_ || round_ != seen; });
      if (is_over_) return;
      seen = round_;
      if (index >= parts_) continue;
      const Part& part = *part_;
      unsigned size = size_, parts = parts_;
      lock.unlock();
      run(part, index, size, parts);
      lock.lock();
      if (--left_ == 0) is_done_.notify_one();
    }
  }

  std::mutex mutex_;  // guards what follows, up to the threads
  std::condition_variable has_work_, is_done_;
  const Part* part_ = nullptr;
  unsigned size_ = 0, parts_ = 0, left_ = 0;
  unsigned long long round_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> others_;
};

Key key_of(unsigned long long seed) { return {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)}; }

// Makes step `now` of an environment, and begins the next episode where it ended one.
End step_on(State& state, unsigned& steps, bool right, unsigned environment, unsigned long long now, Key key) {
  End end = step<Accurate>(state, steps, right);
  if (end != kGoesOn) {
    state = start(drawn(environment, now / kWindow, kWindows, key));
    steps = 0;
  }
  return end;
}

}  // namespace

extern "C" {

void* cartpole_pool(unsigned threads) { return new Pool(threads); }

void cartpole_free(void* pool) { delete static_cast<Pool*>(pool); }

// First states of episodes.
void cartpole_begin(State* states, unsigned* steps, unsigned environments, unsigned long long seed) {
  for (unsigned i = 0; i < environments; i++) {
    states[i] = start(drawn(i, 0, kFirst, key_of(seed)));
    steps[i] = 0;
  }
}

// Step `now` of each environment with these actions; tells how each ended (End).
void cartpole_step(void* pool, State* states, unsigned* steps, const int* actions, unsigned char* ends,
                   unsigned environments, unsigned long long now, unsigned long long seed) {
  static_cast<Pool*>(pool)->share_out(environments, [=](unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; i++) {
      ends[i] = step_on(states[i], steps[i], actions[i] != 0, i, now, key_of(seed));
    }
  });
}

// So many steps of each environment, from step `first` on, with actions drawn evenly.
void cartpole_simulate(void* pool, State* states, unsigned* steps, unsigned environments, unsigned count,
                       unsigned long long first, unsigned long long seed) {
  static_cast<Pool*>(pool)->share_out(environments, [=](unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; i++) {
      State state = states[i];
      unsigned lasted = steps[i], actions = 0;
      for (unsigned long long now = first; now < first + count; now++) {
        if (now == first || now % kWindow == 0) {
          actions = drawn(i, now / kWindow, kWindows, key_of(seed)).words[0] >> now % kWindow;
        }
        step_on(state, lasted, actions & 1, i, now, key_of(seed));
        actions >>= 1;
      }
      states[i] = state;
      steps[i] = lasted;
    }
  });
}

}  // extern "C"
