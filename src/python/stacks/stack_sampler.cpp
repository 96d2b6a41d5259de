// The thread takes no signal, is joined before a fork, and begins again with a record after it: os.fork() warns of threads.
#include "stack_sampler.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clock.h"
#include "python_code.h"
#include "python_memory.h"
#include "python_stack.h"
#include "session.h"
#include "stack_table.h"

namespace rlscope {
namespace {

constexpr int64_t kQuietAfterFork_ns = 10'000'000;  // handlers of fork make calls, too

int64_t now_ns() { return static_cast<int64_t>(monotonic_ns()); }

bool write_code(uint32_t id, uint32_t first_line, const std::string& name, const std::string& file) {
  return Session::write_code({id, first_line, 0, 0}, name, file);
}

void follow_forks();

struct LastSeen {
  int64_t ran_ns = 0;       // of CPU time, when it was looked at
  uint64_t call_ticks = 0;  // its last record, when it was seen in a call
};
constexpr size_t kSeenBesides = 64;

class StackSampler {
 public:
  static StackSampler& instance() {
    static StackSampler* sampler = new StackSampler;  // never freed: daemon threads outlive what is
    return *sampler;
  }

  void begin_recording() {
    follow_forks();
    CodeTable::count_freed();
    main_ = PyThreadState_Get();
    interpreter_ = PyThreadState_GetInterpreter(main_);
    codes_.clear();
    stacks_.clear(codes_.id_of(0, "(deeper)", ""));
    seen_.clear();
    start();
  }
  void start();
  void stop();
  bool is_running() const { return is_running_; }
  bool was_running = false;     // before a fork
  int64_t forked_at_ns = 0;

 private:
  static void* run(void* sampler);
  void look(uint64_t random);
  void look_at(StackWriter& writer, const SeenThread& thread);
  uint32_t intern();
  bool has_run(uint64_t thread_id);
  bool is_new_call(const SeenThread& seen);
  bool is_still_there(const SeenThread& seen);
  void forget_ended_threads();

  PyThreadState* main_ = nullptr;
  PyInterpreterState* interpreter_ = nullptr;
  pthread_t thread_{};
  bool is_running_ = false;
  std::atomic<bool> is_stopping_{false};
  PythonStackReader reader_;
  CodeTable codes_{write_code};
  StackTable stacks_{Session::write_stack};
  std::unordered_map<uint64_t, LastSeen> seen_;  // by thread
  int64_t looks_ = 0;
  int64_t look_at_calls_ = 0;  // the one at which calls are next looked at
  std::vector<SeenThread> threads_, seen_again_;
  std::vector<SeenFrame> frames_;
  std::vector<const void*> addresses_;
  std::vector<const KnownCode*> found_;
  std::vector<StackFrame> numbered_;
};

void StackSampler::start() {
  if (is_running_) return;
  is_stopping_ = false;
  sigset_t all, before;  // the program's signals are for its own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  is_running_ = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_running_) pthread_setname_np(thread_, "rlscope-stacks");
}

void StackSampler::stop() {
  if (!is_running_) return;
  is_stopping_ = true;
  pthread_join(thread_, nullptr);  // two periods at most
  is_running_ = false;
}

// Anywhere within each period: what the program does once a millisecond is not always met at the same place.
void* StackSampler::run(void* pointer) {
  auto* sampler = static_cast<StackSampler*>(pointer);
  uint64_t random = static_cast<uint64_t>(now_ns()) | 1;
  for (int64_t period = now_ns(); !sampler->is_stopping_; period = std::max(period + kStackPeriod_ns, now_ns() - kStackPeriod_ns)) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    int64_t time = period + static_cast<int64_t>(random % kStackPeriod_ns);
    timespec wanted{time / 1'000'000'000, time % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nullptr);
    if (!sampler->is_stopping_) sampler->look(random);
  }
  return nullptr;
}

// Calls are looked at once in so many times, and at any of these.
void StackSampler::look(uint64_t random) {
  StackWriter* writer = Session::stack_writer();
  if (!writer) return;
  Session::look_at_threads(threads_);
  if (seen_.size() > threads_.size() + kSeenBesides) forget_ended_threads();
  bool looks_at_calls = looks_ == look_at_calls_;
  for (const SeenThread& thread : threads_) {
    if (thread.is_in_call ? looks_at_calls && is_new_call(thread) : has_run(thread.thread_id)) look_at(*writer, thread);
  }
  looks_++;
  if (looks_ % kPeriodsOfCalls == 0) look_at_calls_ = looks_ + static_cast<int64_t>((random >> 32) % kPeriodsOfCalls);
}

// Since it was last looked at. One that was blocked all the time is where it waits, not where Python computes.
bool StackSampler::has_run(uint64_t thread_id) {
  constexpr clockid_t kScheduledTimeOfThread = 6;  // as the kernel numbers the clocks of threads
  timespec time;
  if (clock_gettime(static_cast<clockid_t>(~static_cast<uint32_t>(thread_id) << 3) | kScheduledTimeOfThread, &time) != 0) return true;
  int64_t now_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  int64_t before_ns = std::exchange(seen_[thread_id].ran_ns, now_ns);
  return now_ns > before_ns;
}

// A thread that has written nothing since is in the call that it was seen in before: nothing more is to be learned of it.
bool StackSampler::is_new_call(const SeenThread& seen) {
  return std::exchange(seen_[seen.thread_id].call_ticks, seen.last_ticks) != seen.last_ticks;
}

// Else the stack may be one of Python behind the call, and lines there would be seen more often than others.
bool StackSampler::is_still_there(const SeenThread& seen) {
  Session::look_at_threads(seen_again_);
  return std::any_of(seen_again_.begin(), seen_again_.end(), [&](const SeenThread& thread) {
    return thread.thread_id == seen.thread_id && thread.last_ticks == seen.last_ticks;
  });
}

void StackSampler::forget_ended_threads() {
  std::unordered_map<uint64_t, LastSeen> kept;
  for (const SeenThread& thread : threads_) kept[thread.thread_id] = seen_[thread.thread_id];
  seen_ = std::move(kept);
}

void StackSampler::look_at(StackWriter& writer, const SeenThread& seen) {
  const PyThreadState* thread = seen.is_main ? main_ : find_thread(interpreter_, seen.thread_id);
  if (!thread) return;
  uint64_t ticks = now_ticks();
  Seen result = reader_.read(thread, frames_);
  if (result == Seen::kNothing || (seen.is_in_call && !is_still_there(seen))) return;
  writer.write(ticks, seen.thread_id, result == Seen::kStack ? intern() : kTornStack);
}

// The id of the stack that was read; kTornStack where it is none.
uint32_t StackSampler::intern() {
  addresses_.clear();
  for (const SeenFrame& frame : frames_) addresses_.push_back(frame.code);
  if (!codes_.find(addresses_, found_)) return kTornStack;
  for (size_t i = 0; i < frames_.size(); i++) {
    if (frames_[i].instruction >= static_cast<ptrdiff_t>(found_[i]->lines.size())) return kTornStack;
  }
  numbered_.clear();
  for (size_t i = 0; i < frames_.size(); i++) numbered_.push_back({found_[i]->id, found_[i]->line_at(frames_[i].instruction)});
  uint64_t cut_before = stacks_.cut();
  uint32_t stack = stacks_.id_of(numbered_);
  Session::losses().count_cut_stacks(stacks_.cut() - cut_before);
  return stack;
}

// ---- forks

void prepare_fork() {
  StackSampler& sampler = StackSampler::instance();
  sampler.was_running = sampler.is_running();
  sampler.stop();
}

void start_again() {
  StackSampler& sampler = StackSampler::instance();
  if (!Session::is_recording()) return;
  if (now_ns() - sampler.forked_at_ns < kQuietAfterFork_ns) {
    Session::call_at_next_crossing(start_again);
  } else {
    sampler.start();
  }
}

void after_fork_in_parent() {
  StackSampler& sampler = StackSampler::instance();
  sampler.forked_at_ns = now_ns();
  if (sampler.was_running) Session::call_at_next_crossing(start_again);
}

// To be called behind the session's: of handlers before a fork the last one is the first to run, and the session's locks what
// the thread needs to come to its end.
void follow_forks() {
  static const bool is_installed = pthread_atfork(prepare_fork, after_fork_in_parent, nullptr) == 0;
  (void)is_installed;
}

bool is_wanted = false;

constexpr SessionListener kListener = {
    [] {
      if (is_wanted) StackSampler::instance().begin_recording();
    },
    [] { StackSampler::instance().stop(); },
    [] {},
};

// ---- Python

PyObject* sample_stacks(PyObject*, PyObject* wanted) {
  int probe = 0, copy = 1;
  is_wanted = wanted == Py_True && read_memory(&probe, &copy, sizeof copy);
  if (wanted == Py_True && !is_wanted) {
    errno = EPERM;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  if (is_wanted) Session::listen(Follower::kStacks, kListener);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"sample_stacks", sample_stacks, METH_O,
     "sample_stacks(is_wanted, /)\n--\n\nSay whether Python stacks are looked at in recordings that begin from now on; OSError where "
     "the system forbids it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_stack_sampler(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
