// What a process's devices do at each instant, and for which launch site: rules 4 and 5 of docs/analysis.md.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device_reader.h"

namespace rlscope {

struct WorkSum {
  uint64_t count = 0;
  uint64_t ticks = 0;  // of durations, so work that overlaps counts more than once
  uint64_t bytes = 0;

  WorkSum& operator+=(const WorkSum& other) {
    count += other.count;
    ticks += other.ticks;
    bytes += other.bytes;
    return *this;
  }
};

struct LaunchSiteSum {
  uint64_t busy_ticks = 0;
  uint64_t exposed_ticks = 0;  // of these, all work was communication
  uint64_t kernels = 0;
};

// What one device did for the process.
struct DeviceTotals {
  uint64_t busy_ticks = 0;
  uint64_t communication_ticks = 0;  // some work was communication
  uint64_t exposed_ticks = 0;        // of these, all was
  WorkSum kernels, copies, memsets;
  std::unordered_map<uint32_t, LaunchSiteSum> of_launch_site;  // their ticks sum to the device's
  std::unordered_map<uint64_t, WorkSum> work;         // by launch site << 32 | name
};

// Work that runs at an instant, in the order in which it started.
class RunningWork {
 public:
  bool is_any() const { return !work_.empty(); }
  uint32_t owner() const { return work_.front().launch_site; }  // the launch site of what started first
  void start(uint64_t end_ticks, uint32_t launch_site, uint64_t now);
  bool owner_ends(uint64_t now) const { return work_.front().end_ticks <= now; }
  // Forgets what has ended.
  void end(uint64_t now);

 private:
  struct Work {
    uint64_t end_ticks;
    uint32_t launch_site;
  };

  std::deque<Work> work_;   // what ended before the owner did is left out now and then
  size_t next_cleaning_ = 16;
};

// The same, apart by what it is. What computes owns an instant before what communicates, which may only wait for others.
class RunningKinds {
 public:
  bool is_any() const { return computing_.is_any() || communicating_.is_any(); }
  bool communicates() const { return communicating_.is_any(); }
  bool only_communicates() const { return communicates() && !computing_.is_any(); }
  uint32_t owner() const { return (computing_.is_any() ? computing_ : communicating_).owner(); }
  // Whether this work would own the instant although other work runs.
  bool is_taken_over_by(const WorkRecord& record) const { return only_communicates() && !record.communicates; }
  void start(const WorkRecord& record) {
    (record.communicates ? communicating_ : computing_).start(record.end_ticks, record.launch_site, record.start_ticks);
  }
  bool owner_ends(uint64_t now) const { return (computing_.is_any() ? computing_ : communicating_).owner_ends(now); }
  // Forgets what has ended.
  void end(uint64_t now) {
    computing_.end(now);
    communicating_.end(now);
  }

 private:
  RunningWork computing_, communicating_;
};

// Goes through the starts and ends of device work in order of time. What lies outside the process's life takes no time;
// what starts before `counted_from` is no piece of work, and takes the time that it takes after it.
class DeviceTimeline {
 public:
  DeviceTimeline(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks, uint64_t counted_from = 0);

  // When something starts or ends next; kNever: all is done.
  uint64_t next_ticks() const;
  // Goes there.
  void step();
  // To the end of the process's life, at which work may still run.
  void finish() { end(kNever); }

  bool is_running() const { return running_.is_any(); }
  bool only_communicates() const { return running_.only_communicates(); }  // on all devices
  // Devices: the binary digit of each one's number, modulo 64.
  uint64_t working() const { return working_; }
  uint64_t seen() const { return seen_; }
  uint32_t launch_site() const { return running_.owner(); }  // of the earliest started work that owns the instant
  uint64_t last_ticks() const { return last_ticks_; }   // the end of the latest record; 0: there was none

  using HostSums = std::map<uint32_t, uint64_t>;  // ticks by name
  const std::map<uint32_t, DeviceTotals>& devices() const { return totals_; }  // by CUDA's number
  const HostSums& host_sums(DeviceWork work) const { return host_sums_[work - kCuptiWork]; }

  static constexpr uint64_t kNever = ~0ull;

 private:
  struct Device {
    DeviceTotals* totals = nullptr;
    uint64_t digit = 0;
    RunningKinds running;
    uint64_t charged_until = 0;  // while something runs
    uint64_t communicates_since = 0;  // while something communicates
  };
  using End = std::pair<uint64_t, Device*>;

  void start(const WorkRecord& record);
  void end(uint64_t now);
  void charge(Device& device, uint64_t now);
  void count(const WorkRecord& record, DeviceTotals& totals);
  uint64_t clipped(uint64_t ticks) const;

  DeviceMerge records_;
  uint64_t start_ticks_;
  uint64_t end_ticks_;
  uint64_t counted_from_;
  uint64_t last_ticks_ = 0;
  std::map<uint32_t, DeviceTotals> totals_;
  std::map<uint32_t, Device> devices_;
  RunningKinds running_;  // on any device
  uint64_t working_ = 0, seen_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<End>> ends_;
  HostSums host_sums_[3];
};

}  // namespace rlscope
