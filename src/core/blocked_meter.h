// Measures how long a thread was blocked: off the CPU, and not in line for one.
#pragma once
#include <cstdint>

namespace rlscope {

// Time in ticks. While the thread was blocked, threads that are not recorded used `helped` of CPU time: a pool that
// computes what the thread waits for. All of `blocked` where that is a twentieth of it or more, because helpers may
// stand in line.
struct BlockedTime {
  uint64_t blocked = 0;
  uint64_t helped = 0;
};

// Asked at the first record that comes `kPeriodTicks` or more after the last reading, so a reading may be up to this
// much older than the gap that the record ends: nobody knows that a gap will be long when it begins. How long the
// thread was blocked in the gap is bounded from below: all CPU time and all time in line since the reading is taken to
// be the gap's. So running is never called waiting; of a wait up to one period may be missed.
class BlockedMeter {
 public:
  // 0.4 ms to 1 ms, by the clock. A reading takes about half a microsecond, which makes a thousandth.
  static constexpr uint64_t kPeriodTicks = 1 << 16;

  explicit BlockedMeter(uint64_t thread_id) : thread_id_(thread_id) {}

  // From here on the thread is recorded.
  void start();
  // The thread, or the recording of it, is over.
  void stop();

  // How long the thread was blocked in the gap from `gap_start` until now. In a known wait nobody asks, and only the
  // reading is renewed. Any thread may call it while the measured one is at rest.
  BlockedTime measure(uint64_t gap_start, uint64_t now, bool is_known_wait);

  // When to measure next.
  uint64_t due_ticks() const { return last_.ticks + kPeriodTicks; }

  // What threads share: held over a fork; a child begins with no recorded thread.
  static void prepare_fork();
  static void after_fork(bool is_child);

 private:
  // Read often.
  struct Reading {
    uint64_t ticks = 0;
    uint64_t wall_ns = 0;
    uint64_t cpu_ns = 0;
  };
  // Dearer: read where the thread may have been blocked, and when it has become old.
  struct Surroundings {
    uint64_t wall_ns = 0;
    bool has_queue = false;
    uint64_t queued_ns = 0;            // how long the thread has been in line for a CPU
    int64_t voluntary_switches = -1;   // how often it has given its CPU away; -1: not known
    uint64_t unrecorded_cpu_ns = 0;    // CPU time of the process's threads that are not recorded
  };

  Surroundings look_around() const;
  bool read_queue(uint64_t& queued_ns) const;
  // How much of an absence from the CPU was time blocked, at least.
  static double blocked_ns(double absent_ns, const Surroundings& before, const Surroundings& after);

  uint64_t thread_id_;
  Reading last_;
  Surroundings around_;
};

}  // namespace rlscope
