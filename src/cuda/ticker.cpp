// Pthreads rather than std::thread: signals must be blocked before the thread exists, and a join must not be for ever.
#include "ticker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

namespace rlscope::cuda {
namespace {

constexpr time_t kPeriod_s = 1;
constexpr time_t kLongestJoin_s = 5;

timespec a_period_from_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += kPeriod_s;
  return time;
}

}  // namespace

Ticker::Ticker() {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed_, &attributes);
  pthread_condattr_destroy(&attributes);
}

int Ticker::start(Tick tick, void* argument) {
  if (is_running_) return 0;
  pthread_mutex_lock(&mutex_);
  is_stopping_ = is_awake_ = false;
  pthread_mutex_unlock(&mutex_);
  tick_ = tick;
  argument_ = argument;
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread_, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!error) {
    is_running_ = true;
    pthread_setname_np(thread_, "rlscope-flush");
    // It waits for its turn where it wakes on a processor that the program is using.
    sched_param priority{};
    pthread_setschedparam(thread_, SCHED_BATCH, &priority);
  }
  return error;
}

void Ticker::wake() {
  pthread_mutex_lock(&mutex_);
  is_awake_ = true;
  pthread_cond_signal(&changed_);
  pthread_mutex_unlock(&mutex_);
}

bool Ticker::stop() {
  if (!is_running_) return true;
  pthread_mutex_lock(&mutex_);
  is_stopping_ = true;
  pthread_cond_signal(&changed_);
  pthread_mutex_unlock(&mutex_);
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += kLongestJoin_s;
  is_running_ = false;
  if (pthread_timedjoin_np(thread_, nullptr, &deadline) != ETIMEDOUT) return true;
  pthread_detach(thread_);
  return false;
}

void* Ticker::run(void* pointer) {
  auto* ticker = static_cast<Ticker*>(pointer);
  timespec next = a_period_from_now();
  pthread_mutex_lock(&ticker->mutex_);
  while (!ticker->is_stopping_) {
    int result = 0;
    while (!ticker->is_stopping_ && !ticker->is_awake_ && result != ETIMEDOUT) {
      result = pthread_cond_timedwait(&ticker->changed_, &ticker->mutex_, &next);
    }
    if (ticker->is_stopping_) break;
    ticker->is_awake_ = false;
    pthread_mutex_unlock(&ticker->mutex_);
    bool is_due = result == ETIMEDOUT;
    ticker->tick_(ticker->argument_, is_due);
    if (is_due) next = a_period_from_now();
    pthread_mutex_lock(&ticker->mutex_);
  }
  pthread_mutex_unlock(&ticker->mutex_);
  return nullptr;
}

}  // namespace rlscope::cuda
