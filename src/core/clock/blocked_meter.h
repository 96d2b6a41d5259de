// Measures how long a thread was off the CPU: blocked, or in line for one.
#pragma once
#include <cstdint>

namespace rlscope {

// Time in ticks. In line for a CPU are also those whose CPU the host of a virtual machine took, or a quota. Meanwhile
// threads that are not recorded used `helped` of CPU time: a pool that computes what the thread waits for. All of `blocked`
// where that is a twentieth of it or more, because helpers may stand in line, and of `queued` what they used.
struct AbsentTime {
  uint64_t blocked = 0;
  uint64_t queued = 0;
  uint64_t helped = 0;
};

// Asked at the first record that comes a period or more after the last reading: nobody knows that a gap will be long when
// it begins. The period is `kShortestTicks` for a thread that was off the CPU for a part of the last one, and doubles up
// to `kLongestTicks` while the thread runs without a break, because a reading takes microseconds.
//
// A thread that did not run throughout the last period may have been blocked shortly before the gap as well. So all of
// its CPU time and time in line since the reading is taken to be the gap's, and of a wait up to the shortest period may
// be missed. One that ran throughout is taken to have been blocked in the gap alone. So running is not called waiting
// but where a thread that had run for long begins with many short waits: then once, and for less than a period.
//
// To be asked for a thread's CPU time makes the scheduler look whether its turn is over, which it else does at each tick of
// the machine. So a thread beside others would lose its core in readings, instead of anywhere. While others want its core
// it is not asked: the time is what passed, less the time in line, which the kernel has counted where the thread lost it.
class BlockedMeter {
 public:
  // 0.4 ms to 1 ms, by the clock, and 16 times as much.
  static constexpr uint64_t kShortestTicks = 1 << 16;
  static constexpr uint64_t kLongestTicks = kShortestTicks << 4;

  explicit BlockedMeter(uint64_t thread_id) : thread_id_(thread_id) {}

  // From here on the thread is recorded.
  void start();
  // The thread, or the recording of it, is over, or it works for others: from here on its CPU time is help.
  void stop();

  // What the thread did in a gap.
  struct Gap {
    uint64_t start_ticks;
    bool is_known_wait;  // only the time in line is asked for: what is left of it is waiting
    bool may_be_helped;  // it called native code, which may compute on other threads
  };

  // How long the thread was off the CPU in the gap until now. Any thread may call it while the measured one is at rest. A
  // thread may lose its CPU in this call: what it writes after that has to have a later time.
  AbsentTime measure(const Gap& gap, uint64_t now);

  // Of the thread, when it was measured last.
  uint64_t cpu_ns() const { return last_.cpu_ns; }
  // When to measure next.
  uint64_t due_ticks() const { return last_.ticks + period_ticks_; }

  // What threads share: held over a fork; a child begins with no recorded thread.
  static void prepare_fork();
  static void after_fork(bool is_child);

 private:
  // Read often.
  struct Reading {
    uint64_t ticks = 0;
    uint64_t wall_ns = 0;
    uint64_t cpu_ns = 0;
    uint64_t cpu_wall_ns = 0;  // when it was that
  };
  // How often the thread has given its CPU away, and lost it; -1: not known.
  struct Switches {
    int64_t voluntary = -1;
    int64_t involuntary = -1;
  };
  // Dearer: read where the thread may have been off the CPU, and when it has become old.
  struct Surroundings {
    Switches switches;
    bool has_queue = false;
    uint64_t queued_ns = 0;          // how long the thread has been in line for a CPU
    uint64_t accounted_ns = 0;       // and on one, when the kernel added that up: at the last switch or tick
    uint64_t unrecorded_cpu_ns = 0;  // CPU time of the process's threads that are not recorded
    uint64_t unrecorded_wall_ns = 0;  // when it was that
  };

  Switches switches() const;
  void read_queue(Surroundings& around) const;
  void ask_for_unrecorded(Surroundings& around) const;
  // The thread's CPU time, without asking the scheduler; false where that cannot be known.
  bool find_cpu_time(Surroundings& after, uint64_t& cpu_ns, uint64_t& wall_ns) const;
  // What an absence from the CPU was: blocked for so long at least, the rest in line.
  static AbsentTime parts_of(double absent_ns, double ns_per_tick, const Surroundings& before, const Surroundings& after);
  uint64_t queued_in_wait(double absent_ns, double ns_per_tick, const Surroundings& after) const;
  // 0 where the kernel does not say.
  static double queued_between(const Surroundings& before, const Surroundings& after, double most_ns);

  uint64_t thread_id_;
  Reading last_;
  Surroundings around_;
  uint64_t contended_until_cpu_ns_ = 0;  // up to this CPU time of it others are taken to want the thread's core
  uint64_t period_ticks_ = kShortestTicks;
};

}  // namespace rlscope
