// The thread takes no signal, is joined before a fork, and begins again with a record after it: os.fork() warns of threads.
#include "stack_sampler.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
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

// Since Python 3.12 os.fork() warns at its end of threads that there are then, and handlers of fork make calls, too.
#if PY_VERSION_HEX < 0x030C0000
constexpr int64_t kQuietAfterFork_ns = 0;
#else
constexpr int64_t kQuietAfterFork_ns = 10'000'000;
#endif

// Where lines are not asked for, of the process's CPU time at most this part goes into looking, and of all time a little, so
// that a process that waits is looked at too. What is not used can be saved up to the last but one number. Where nothing is left
// the thread sleeps until as much is there again if the process goes on as it did, for to wake up costs, too; once in the longest
// sleep it looks on credit, up to the same number, as what follows an expensive import must be seen in short runs as well.
constexpr int64_t kPartOfCpuTime = 300;
constexpr int64_t kPartOfTime = 1000;
constexpr int64_t kMostSaved_ns = 10'000'000;
constexpr int64_t kLongestSleep_ns = 100'000'000;

int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
int64_t now_ns() { return static_cast<int64_t>(monotonic_ns()); }

bool write_code(uint32_t id, uint32_t first_line, const std::string& name, const std::string& file) {
  return Session::write_code({id, first_line, 0, 0}, name, file);
}

void follow_forks();

struct LastSeen {
  int64_t ran_ns = 0;       // of CPU time, when it was looked at
  uint64_t call_ticks = 0;  // its last record, when it was seen in a call
  int torn = 0;             // so often in a row its stack in a call changed while it was read
};
constexpr int kMostTorn = 16;
constexpr int kReadings = 3;  // of a stack that changes meanwhile, or is read late
constexpr uint64_t kLate_ns = 100'000;
constexpr size_t kSeenBesides = 64;

class StackSampler {
 public:
  static StackSampler& instance() {
    static StackSampler* sampler = new StackSampler;  // never freed: daemon threads outlive what is
    return *sampler;
  }

  // Looks once in so many ns from the next recording on; 0: not at all.
  void look_each(int64_t period_ns) {
    period_ns_ = period_ns;
    periods_of_calls_ = period_ns ? std::max<int64_t>(1, kPeriodsOfCalls * kStackPeriod_ns / period_ns) : 1;
  }
  void begin_recording() try {
    if (!period_ns_ || steps_aside_) return;
    follow_forks();
    CodeTable::count_freed();
    main_ = PyThreadState_Get();
    interpreter_ = PyThreadState_GetInterpreter(main_);
    codes_.clear();
    stacks_.clear(codes_.id_of(0, "(deeper)", ""));
    seen_.clear();
    read_ = traced_ = 0;
    last_frames_.clear();
    last_ids_.clear();
    start();
  } catch (const std::bad_alloc&) {
    Session::fail(ENOMEM);
  }
  void start();
  void stop();
  // This process and those that it forks are to have no thread that the program does not know.
  void step_aside() {
    steps_aside_ = true;
    stop();
  }
  bool is_running() const { return is_running_; }
  bool was_running = false;     // before a fork
  int64_t forked_at_ns = 0;

 private:
  static void* run(void* sampler);
  bool sleep_until(int64_t time_ns);
  int64_t period_until_affordable();
  void look(uint64_t random);
  void look_at(StackWriter& writer, const SeenThread& thread);
  Seen read_in_time(const PyThreadState* thread, uint64_t& ticks, uint32_t& stack);
  Seen read(const PyThreadState* thread, uint32_t& stack);
  uint32_t intern();
  bool has_run(uint64_t thread_id);
  bool is_new_call(const SeenThread& seen);
  bool is_still_there(const SeenThread& seen);
  void count_look();
  void forget_ended_threads();

  PyThreadState* main_ = nullptr;
  PyInterpreterState* interpreter_ = nullptr;
  pthread_t thread_{};
  bool is_running_ = false;
  bool steps_aside_ = false;
  std::atomic<uint32_t> is_stopping_{0};  // a futex
  int64_t period_ns_ = 0;
  int64_t periods_of_calls_ = 1;
  PythonStackReader reader_;
  CodeTable codes_{write_code};
  StackTable stacks_{Session::write_stack};
  int64_t saved_ns_ = 0;                 // of CPU time for looks
  int64_t used_ns_ = 0, process_ns_ = 0;  // of CPU time so far, by the thread and by all
  int64_t time_ns_ = 0;                   // up to which that was saved
  std::unordered_map<uint64_t, LastSeen> seen_;  // by thread
  uint64_t read_ = 0, traced_ = 0;  // stacks, and those of them of threads that were traced
  int64_t looks_ = 0;
  int64_t look_at_calls_ = 0;  // the one at which calls are next looked at
  std::vector<SeenThread> threads_, seen_again_;
  std::vector<SeenFrame> frames_;
  std::vector<const void*> addresses_;
  std::vector<const KnownCode*> found_;
  std::vector<StackFrame> numbered_, last_numbered_;
  // Of the stack that was read before: its frames, and the ids of the stacks of its frames, the outermost first.
  std::vector<SeenFrame> last_frames_;
  std::vector<uint32_t> last_ids_;
  uint64_t last_freed_ = 0;
};

void StackSampler::start() {
  if (is_running_ || steps_aside_) return;
  is_stopping_ = 0;
  sigset_t all, before;  // the program's signals are for its own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  is_running_ = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_running_) pthread_setname_np(thread_, "rlscope-stacks");
}

void StackSampler::stop() {
  if (!is_running_) return;
  is_stopping_ = 1;
  syscall(SYS_futex, &is_stopping_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  pthread_join(thread_, nullptr);
  is_running_ = false;
}

// Anywhere within each period: what the program does once a millisecond is not always met at the same place.
void* StackSampler::run(void* pointer) {
  auto* sampler = static_cast<StackSampler*>(pointer);
  uint64_t random = static_cast<uint64_t>(now_ns()) | 1;
  sampler->saved_ns_ = kMostSaved_ns;
  sampler->used_ns_ = now_ns(CLOCK_THREAD_CPUTIME_ID);
  sampler->process_ns_ = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  sampler->time_ns_ = now_ns();
  int64_t length = sampler->period_ns_;
  for (int64_t period = now_ns();; period = std::max(period + length, now_ns() - length)) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    if (!sampler->sleep_until(period + static_cast<int64_t>(random % static_cast<uint64_t>(length)))) return nullptr;
    bool is_on_credit = length == kLongestSleep_ns && sampler->saved_ns_ > -kMostSaved_ns;
    if (length == sampler->period_ns_ || is_on_credit) {
      try {
        sampler->look(random);
      } catch (const std::bad_alloc&) {  // what earlier looks left is half changed
        Session::fail(ENOMEM);
      }
    }
    if (sampler->period_ns_ != kStackPeriod_ns) length = sampler->period_until_affordable();
  }
}

// The usual one if the next look can be afforded. One costs more where stacks are deep and caches cold, as while modules are
// imported and on a busy machine.
int64_t StackSampler::period_until_affordable() {
  int64_t used_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), process_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID), time_ns = now_ns();
  int64_t elapsed_ns = time_ns - time_ns_;
  int64_t gained_ns = (process_ns - process_ns_) / kPartOfCpuTime + elapsed_ns / kPartOfTime;
  saved_ns_ = std::min(saved_ns_ + gained_ns - (used_ns - used_ns_), kMostSaved_ns);
  used_ns_ = used_ns, process_ns_ = process_ns, time_ns_ = time_ns;
  if (saved_ns_ > 0) return period_ns_;
  double sleep_ns = -static_cast<double>(saved_ns_) * elapsed_ns / std::max<int64_t>(gained_ns, 1);
  return static_cast<int64_t>(std::clamp<double>(sleep_ns, period_ns_ + 1, kLongestSleep_ns));
}

// False: the thread is to end. A fork waits for that, so it does not sleep on.
bool StackSampler::sleep_until(int64_t time_ns) {
  timespec wanted{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (!is_stopping_) {
    long result = syscall(SYS_futex, &is_stopping_, FUTEX_WAIT_BITSET_PRIVATE, 0, &wanted, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result == -1 && errno == ETIMEDOUT) return true;
  }
  return false;
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
  if (looks_ % periods_of_calls_ == 0) {
    look_at_calls_ = looks_ + static_cast<int64_t>((random >> 32) % static_cast<uint64_t>(periods_of_calls_));
  }
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
  uint64_t ticks;
  uint32_t stack;
  Seen result = read_in_time(thread, ticks, stack);
  if (result == Seen::kNothing || (seen.is_in_call && !is_still_there(seen))) return;
  writer.write(ticks, seen.thread_id, stack);
  count_look();
  if (!seen.is_in_call) return;
  LastSeen& last = seen_[seen.thread_id];
  last.torn = stack == kTornStack ? last.torn + 1 : 0;
  if (last.torn && last.torn < kMostTorn) last.call_ticks = 0;  // to be looked at again, as nothing was learned of the call
}

// How many stacks were of threads that were traced, each time that these are twice as many: a process that is killed says it, too.
void StackSampler::count_look() {
  read_++;
  if (!reader_.is_traced()) return;
  traced_++;
  if (traced_ & (traced_ - 1)) return;
  Session::write_properties("{\"stacks_read\":" + std::to_string(read_) + ",\"traced_stacks\":" + std::to_string(traced_) + "}");
}

// Where the thread that looks loses its core behind the time that it takes down, the other one is elsewhere when it is read.
Seen StackSampler::read_in_time(const PyThreadState* thread, uint64_t& ticks, uint32_t& stack) {
  for (int reading = 0; reading < kReadings; reading++) {
    stack = kTornStack;
    Seen result = read(thread, stack);
    ticks = reader_.ticks();
    if (reader_.took_ns() <= kLate_ns) return result;
  }
  return Seen::kNothing;
}

// A thread that goes on while it is read is soon in another function, which can be read.
Seen StackSampler::read(const PyThreadState* thread, uint32_t& stack) {
  Seen result = Seen::kTorn;
  for (int reading = 0; reading < kReadings && stack == kTornStack; reading++) {
    result = reader_.read(thread, frames_);
    if (result == Seen::kNothing) break;
    if (result == Seen::kStack) stack = intern();
  }
  return result;
}

// The id of the stack that was read; kTornStack where it is none. Most frames are those of the stack that was read before.
uint32_t StackSampler::intern() {
  uint64_t freed = CodeTable::freed();
  size_t same = 0, most = freed == last_freed_ ? std::min(frames_.size(), last_frames_.size()) : 0;
  while (same < most && frames_[frames_.size() - 1 - same] == last_frames_[last_frames_.size() - 1 - same]) same++;
  size_t changed = frames_.size() - same;
  addresses_.clear();
  for (size_t i = 0; i < changed; i++) addresses_.push_back(frames_[i].code);
  if (!codes_.find(addresses_, found_)) return kTornStack;
  for (size_t i = 0; i < changed; i++) {
    if (frames_[i].instruction >= static_cast<ptrdiff_t>(found_[i]->lines.size())) return kTornStack;
  }
  last_numbered_.swap(numbered_);
  numbered_.clear();
  for (size_t i = 0; i < changed; i++) numbered_.push_back({found_[i]->id, found_[i]->line_at(frames_[i].instruction)});
  numbered_.insert(numbered_.end(), last_numbered_.end() - static_cast<ptrdiff_t>(same), last_numbered_.end());
  last_ids_.resize(same);
  uint64_t cut_before = stacks_.cut();
  uint32_t stack = stacks_.id_of(numbered_, last_ids_);
  Session::losses().count_cut_stacks(stacks_.cut() - cut_before);
  last_frames_.clear();
  if (!last_ids_.empty()) last_frames_ = frames_;
  last_freed_ = freed;
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

constexpr SessionListener kListener = {
    [] { StackSampler::instance().begin_recording(); },
    [] { StackSampler::instance().stop(); },
    [] {},
};

// ---- Python

PyObject* sample_stacks(PyObject*, PyObject* hertz) {
  constexpr int64_t kMost = 1'000'000'000 / kStackPeriod_ns;
  int64_t wanted = PyLong_AsLongLong(hertz);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  if (wanted < 0 || wanted > kMost) {
    return PyErr_Format(PyExc_ValueError, "0 to %lld looks a second were expected, found %lld", static_cast<long long>(kMost),
                        static_cast<long long>(wanted));
  }
  int probe = 0, copy = 1;
  bool can_be = wanted > 0 && read_memory(&probe, &copy, sizeof copy);
  StackSampler::instance().look_each(can_be ? 1'000'000'000 / wanted : 0);
  if (wanted > 0 && !can_be) {
    errno = EPERM;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  if (can_be) Session::listen(Follower::kStacks, kListener);
  Py_RETURN_NONE;
}

PyObject* stop_sampling_stacks(PyObject*, PyObject*) {
  bool was_running = StackSampler::instance().is_running();
  StackSampler::instance().step_aside();
  return PyBool_FromLong(was_running);
}

PyMethodDef functions[] = {
    {"sample_stacks", sample_stacks, METH_O,
     "sample_stacks(hertz, /)\n--\n\nSay how often a second Python stacks are looked at in recordings that begin from now on, 0 for "
     "not at all; OSError where the system forbids it."},
    {"stop_sampling_stacks", stop_sampling_stacks, METH_NOARGS,
     "stop_sampling_stacks()\n--\n\nLet this process, and those that it forks, have no thread that looks at stacks from now on. Return "
     "whether it had one."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_stack_sampler(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
