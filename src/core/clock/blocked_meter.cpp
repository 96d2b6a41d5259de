// Reads what the kernel knows of a thread's time, and of the CPU time of the whole process.
#include "blocked_meter.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "clock.h"

namespace rlscope {
namespace {

constexpr double kLeastAbsent_ns = 500'000;
// Helpers on a busy machine stand in line for most of the time: with 17 ready threads on 2 CPUs, the pools of JAX and
// TensorFlow had 8 to 13 % of a CPU while they computed a product. So this part of the blocked time counts as all of
// it.
constexpr double kLeastHelp = 0.05;
// Of a period, so that the thread did not run throughout it.
constexpr double kLeastAbsent = 0.1;
constexpr uint64_t kOldestSurroundings_ns = 50'000'000;

struct RecordedThread {
  uint64_t id;
  uint64_t cpu_before_ns;  // that it had used before it was recorded
};

// Never freed: threads may come here while the process is being torn down.
struct RecordedThreads {
  std::mutex mutex;
  std::vector<RecordedThread> threads;
  uint64_t ended_cpu_ns = 0;  // that threads used while they were recorded, which are so no longer
};
RecordedThreads& recorded() {
  static auto* recorded = new RecordedThreads;
  return *recorded;
}

// The threads come first: asking for one that runs brings its part of the process's time up to date.
uint64_t unrecorded_cpu_ns() {
  RecordedThreads& all = recorded();
  std::lock_guard<std::mutex> lock(all.mutex);
  uint64_t recorded_ns = all.ended_cpu_ns;
  for (const RecordedThread& thread : all.threads) {
    recorded_ns += std::max(thread_cpu_ns(thread.id), thread.cpu_before_ns) - thread.cpu_before_ns;
  }
  uint64_t process_ns = monotonic_ns(CLOCK_PROCESS_CPUTIME_ID);
  return process_ns - std::min(process_ns, recorded_ns);
}

}  // namespace

void BlockedMeter::start() {
  uint64_t cpu_ns = thread_cpu_ns(thread_id_);
  {
    RecordedThreads& all = recorded();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.threads.push_back({thread_id_, cpu_ns});
  }
  around_ = look_around();
  last_ = {now_ticks(), around_.wall_ns, cpu_ns};
}

void BlockedMeter::stop() {
  RecordedThreads& all = recorded();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = std::find_if(all.threads.begin(), all.threads.end(),
                            [this](const RecordedThread& thread) { return thread.id == thread_id_; });
  if (found == all.threads.end()) return;
  all.ended_cpu_ns += std::max(thread_cpu_ns(found->id), found->cpu_before_ns) - found->cpu_before_ns;
  all.threads.erase(found);
}

// The CPU's time is a system call, in which a thread that has had its turn loses the CPU: the wall is read behind it, so
// that this is of the gap. Should the thread lose it later, that is taken for time in which it ran.
AbsentTime BlockedMeter::measure(uint64_t gap_start, uint64_t now, bool is_known_wait) {
  if (now < (is_known_wait ? last_.ticks + kShortestTicks : due_ticks())) return {};
  uint64_t cpu_ns = thread_cpu_ns(thread_id_);
  uint64_t wall_ns = monotonic_ns();
  now = std::max(now, now_ticks());
  double ns_per_tick = static_cast<double>(wall_ns - last_.wall_ns) / static_cast<double>(now - last_.ticks);
  double gap_ns = static_cast<double>(now - std::max(gap_start, last_.ticks)) * ns_per_tick;
  double ran_ns = static_cast<double>(cpu_ns - std::min(cpu_ns, last_.cpu_ns));
  double absent_since_ns = static_cast<double>(wall_ns - last_.wall_ns) - ran_ns;
  bool has_run_throughout = period_ticks_ > kShortestTicks;
  double absent_ns = has_run_throughout ? std::min(gap_ns, absent_since_ns) : gap_ns - ran_ns;
  bool runs_throughout = absent_since_ns < kLeastAbsent * static_cast<double>(wall_ns - last_.wall_ns);
  period_ticks_ = runs_throughout ? std::min(2 * period_ticks_, kLongestTicks) : kShortestTicks;
  bool may_be_absent = absent_ns >= kLeastAbsent_ns;
  AbsentTime found;
  bool are_old = wall_ns - around_.wall_ns >= kOldestSurroundings_ns;
  if (may_be_absent || are_old) {
    Surroundings after = around_;
    if (is_known_wait && !are_old) {
      after.has_queue = read_queue(after.queued_ns);
    } else {
      after = look_around();
    }
    if (may_be_absent && is_known_wait) found.queued = queued_in_wait(absent_ns, ns_per_tick, after);
    if (may_be_absent && !is_known_wait) found = parts_of(absent_ns, ns_per_tick, around_, after);
    around_ = after;
  }
  last_.wall_ns = monotonic_ns();
  last_.ticks = now_ticks();
  last_.cpu_ns = cpu_ns;
  return found;
}

// A thread that gave its CPU away not once was not blocked, whatever else kept it from running: other threads, a quota, or
// the host of a virtual machine. Without the queue's time (a kernel without schedstat), one that did was blocked whenever
// absent; and nothing is known where the switches are not, either.
AbsentTime BlockedMeter::parts_of(double absent_ns, double ns_per_tick, const Surroundings& before, const Surroundings& after) {
  bool is_count_known = before.voluntary_switches >= 0 && after.voluntary_switches >= 0;
  bool is_queue_known = before.has_queue && after.has_queue;
  if (!is_queue_known && (!is_count_known || after.voluntary_switches == 0)) return {};
  bool gave_away = !is_count_known || before.voluntary_switches != after.voluntary_switches;
  double queued_ns = gave_away ? queued_between(before, after, absent_ns) : absent_ns;
  double blocked_ns = absent_ns - queued_ns < kLeastAbsent_ns ? 0 : absent_ns - queued_ns;
  auto ticks = [&](double ns) { return static_cast<uint64_t>(ns / ns_per_tick); };
  AbsentTime found{ticks(blocked_ns), ticks(queued_ns), 0};
  uint64_t helped_ns = after.unrecorded_cpu_ns - std::min(after.unrecorded_cpu_ns, before.unrecorded_cpu_ns);
  uint64_t helped = ticks(static_cast<double>(helped_ns));
  bool is_helped = static_cast<double>(helped_ns) >= kLeastHelp * blocked_ns;
  uint64_t helped_blocked = std::min(helped, found.blocked);
  found.helped = (is_helped ? found.blocked : helped_blocked) + std::min(helped - helped_blocked, found.queued);
  return found;
}

// A thread that was woken up in a wait stands in line for as long as others have the cores.
uint64_t BlockedMeter::queued_in_wait(double absent_ns, double ns_per_tick, const Surroundings& after) const {
  double queued_ns = queued_between(around_, after, absent_ns);
  return queued_ns < kLeastAbsent_ns ? 0 : static_cast<uint64_t>(queued_ns / ns_per_tick);
}

double BlockedMeter::queued_between(const Surroundings& before, const Surroundings& after, double most_ns) {
  if (!before.has_queue || !after.has_queue) return 0;
  return std::min(static_cast<double>(after.queued_ns - std::min(after.queued_ns, before.queued_ns)), most_ns);
}

BlockedMeter::Surroundings BlockedMeter::look_around() const {
  Surroundings around;
  around.has_queue = read_queue(around.queued_ns);
  rusage usage;
  bool is_own = static_cast<uint64_t>(syscall(SYS_gettid)) == thread_id_;
  if (is_own && getrusage(RUSAGE_THREAD, &usage) == 0) around.voluntary_switches = usage.ru_nvcsw;
  around.unrecorded_cpu_ns = unrecorded_cpu_ns();
  around.wall_ns = monotonic_ns();
  return around;
}

// Opened each time: a descriptor that is kept would be the program's to close, and to have its number given to a file.
bool BlockedMeter::read_queue(uint64_t& queued_ns) const {
  int error = errno;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%llu/schedstat", static_cast<unsigned long long>(thread_id_));
  char text[64] = {};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  errno = error;
  if (bytes <= 0) return false;
  char* rest;
  uint64_t on_cpu_ns = std::strtoull(text, &rest, 10);
  queued_ns = std::strtoull(rest, nullptr, 10);
  return on_cpu_ns > 0;  // some kernels have the file and count nothing
}

void BlockedMeter::prepare_fork() { recorded().mutex.lock(); }

void BlockedMeter::after_fork(bool is_child) {
  RecordedThreads& all = recorded();
  if (is_child) {
    all.threads.clear();
    all.ended_cpu_ns = 0;
  }
  all.mutex.unlock();
}

}  // namespace rlscope
