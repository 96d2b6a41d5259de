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
// For so long of its CPU time after a thread was in line others are taken to want its core.
constexpr uint64_t kContended_ns = 50'000'000;
// A thread that got its core so short a time ago keeps it whoever asks the scheduler: the shortest turns are 0.7 ms.
constexpr uint64_t kFreshTurn_ns = 300'000;

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

// How old what the kernel has accounted of a running thread may be.
uint64_t tick_ns() {
  static const uint64_t length_ns = [] {
    timespec length{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &length);
    return static_cast<uint64_t>(length.tv_nsec);
  }();
  return length_ns;
}

}  // namespace

void BlockedMeter::start() {
  uint64_t cpu_ns = thread_cpu_ns(thread_id_);
  {
    RecordedThreads& all = recorded();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.threads.push_back({thread_id_, cpu_ns});
  }
  around_.switches = switches();
  read_queue(around_);
  ask_for_unrecorded(around_);
  last_ = {now_ticks(), around_.unrecorded_wall_ns, cpu_ns, around_.unrecorded_wall_ns};
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

// The wall is read behind the CPU's time, so that a core that is lost in that is missing in the gap. Should the thread lose
// it later, that is taken for time in which it ran.
AbsentTime BlockedMeter::measure(const Gap& gap, uint64_t now) {
  if (now < (gap.is_known_wait ? last_.ticks + kShortestTicks : due_ticks())) return {};
  Surroundings after = around_;
  uint64_t cpu_ns, wall_ns;
  bool is_contended = last_.cpu_ns < contended_until_cpu_ns_;
  bool is_found = is_contended && find_cpu_time(after, cpu_ns, wall_ns);
  if (!is_found) {
    cpu_ns = thread_cpu_ns(thread_id_);
    wall_ns = monotonic_ns();
  }
  now = std::max(now, now_ticks());
  double ns_per_tick = static_cast<double>(wall_ns - last_.wall_ns) / static_cast<double>(now - last_.ticks);
  double gap_ns = static_cast<double>(now - std::max(gap.start_ticks, last_.ticks)) * ns_per_tick;
  double ran_ns = static_cast<double>(cpu_ns - std::min(cpu_ns, last_.cpu_ns));
  double absent_since_ns = static_cast<double>(wall_ns - last_.wall_ns) - ran_ns;
  bool has_run_throughout = period_ticks_ > kShortestTicks;
  double absent_ns = has_run_throughout ? std::min(gap_ns, absent_since_ns) : gap_ns - ran_ns;
  bool runs_throughout = absent_since_ns < kLeastAbsent * static_cast<double>(wall_ns - last_.wall_ns);
  period_ticks_ = runs_throughout ? std::min(2 * period_ticks_, kLongestTicks) : kShortestTicks;
  bool may_be_absent = absent_ns >= kLeastAbsent_ns;
  bool are_old = wall_ns - around_.unrecorded_wall_ns >= kOldestSurroundings_ns;
  if (!is_found && (may_be_absent || are_old || is_contended)) {
    after.switches = switches();
    read_queue(after);
  }
  bool has_lost_it = after.switches.involuntary != around_.switches.involuntary;
  bool was_in_line = queued_between(around_, after, kLeastAbsent_ns) >= kLeastAbsent_ns;
  if (has_lost_it && was_in_line) contended_until_cpu_ns_ = cpu_ns + kContended_ns;
  // The scheduler has to be asked for what helpers used as well; in Python nobody needs it at once.
  bool is_fresh = has_lost_it && cpu_ns < after.accounted_ns + kFreshTurn_ns;
  bool may_ask = !is_contended || gap.may_be_helped || is_fresh;
  if (may_ask && (are_old || (may_be_absent && !gap.is_known_wait))) ask_for_unrecorded(after);
  AbsentTime found;
  if (may_be_absent && gap.is_known_wait) found.queued = queued_in_wait(absent_ns, ns_per_tick, after);
  if (may_be_absent && !gap.is_known_wait) found = parts_of(absent_ns, ns_per_tick, around_, after);
  around_ = after;
  last_ = {now_ticks(), monotonic_ns(), cpu_ns, wall_ns};
  return found;
}

// Where the thread did not give its CPU away since the last reading, it was on one whenever it was not in line. What the
// host of a virtual machine took is missing in what the kernel has accounted.
bool BlockedMeter::find_cpu_time(Surroundings& after, uint64_t& cpu_ns, uint64_t& wall_ns) const {
  after.switches = switches();
  bool has_given_it_away = after.switches.voluntary != around_.switches.voluntary;
  if (!around_.has_queue || after.switches.voluntary < 0 || has_given_it_away) return false;
  bool has_lost_it = after.switches.involuntary != around_.switches.involuntary;
  if (has_lost_it) read_queue(after);
  if (!after.has_queue) return false;
  wall_ns = monotonic_ns();
  uint64_t passed_ns = wall_ns - last_.cpu_wall_ns;
  uint64_t queued_ns = after.queued_ns - std::min(after.queued_ns, around_.queued_ns);
  cpu_ns = last_.cpu_ns + passed_ns - std::min(passed_ns, queued_ns);
  if (has_lost_it) cpu_ns = std::clamp(cpu_ns, after.accounted_ns, after.accounted_ns + tick_ns());
  return true;
}

// A thread that gave its CPU away not once was not blocked, whatever else kept it from running: other threads, a quota, or
// the host of a virtual machine. Without the queue's time (a kernel without schedstat), one that did was blocked whenever
// absent; and nothing is known where the switches are not, either.
AbsentTime BlockedMeter::parts_of(double absent_ns, double ns_per_tick, const Surroundings& before, const Surroundings& after) {
  bool is_count_known = before.switches.voluntary >= 0 && after.switches.voluntary >= 0;
  bool is_queue_known = before.has_queue && after.has_queue;
  if (!is_queue_known && (!is_count_known || after.switches.voluntary == 0)) return {};
  bool gave_away = !is_count_known || before.switches.voluntary != after.switches.voluntary;
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

// Of the measured thread alone, which no other one can ask for.
BlockedMeter::Switches BlockedMeter::switches() const {
  rusage usage;
  bool is_own = static_cast<uint64_t>(syscall(SYS_gettid)) == thread_id_;
  if (!is_own || getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

void BlockedMeter::ask_for_unrecorded(Surroundings& around) const {
  around.unrecorded_cpu_ns = unrecorded_cpu_ns();
  around.unrecorded_wall_ns = monotonic_ns();
}

// Opened each time: a descriptor that is kept would be the program's to close, and to have its number given to a file.
void BlockedMeter::read_queue(Surroundings& around) const {
  int error = errno;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%llu/schedstat", static_cast<unsigned long long>(thread_id_));
  char text[64] = {};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  errno = error;
  char* rest = text;
  around.accounted_ns = bytes > 0 ? std::strtoull(text, &rest, 10) : 0;
  around.queued_ns = std::strtoull(rest, nullptr, 10);
  around.has_queue = around.accounted_ns > 0;  // some kernels have the file and count nothing
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
