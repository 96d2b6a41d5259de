// Goes through the work of all processes in order, and keeps for each device whose work runs.
#include "device_sharing.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rlscope {
namespace {

class SharedDevice {
 public:
  explicit SharedDevice(size_t processes) { found_.processes.resize(processes); }

  // Work comes in order of its start.
  void add(size_t process, uint64_t start, uint64_t end) {
    if (start >= end) return;
    go_to(start);
    if (running_.empty()) note_switch(process);
    for (Running& other : running_) {
      if (other.process != process) continue;
      other.end = std::max(other.end, end);
      return;
    }
    running_.push_back({process, end});
  }

  SweptSharing finish() {
    go_to(UINT64_MAX);
    for (const auto& [between, sum] : switches_) found_.switches.push_back(sum);
    return std::move(found_);
  }

 private:
  struct Running {
    size_t process;
    uint64_t end;  // of its work, as far as that was seen
  };

  void go_to(uint64_t now) {
    while (!running_.empty() && now_ < now) {
      uint64_t until = now;
      for (const Running& each : running_) until = std::min(until, each.end);
      charge(until - now_);
      now_ = until;
      end_work();
    }
    if (running_.empty()) now_ = now;
  }

  void charge(uint64_t time) {
    if (running_.size() == 1) {
      found_.processes[running_[0].process].alone += time;
      return;
    }
    found_.shared += time;
    for (const Running& each : running_) found_.processes[each.process].shared += time;
  }

  void end_work() {
    auto runs_on = [this](const Running& each) { return each.end > now_; };
    auto ended = std::stable_partition(running_.begin(), running_.end(), runs_on);
    if (ended == running_.begin() && ended != running_.end()) {
      last_.clear();
      for (const Running& each : running_) last_.push_back(each.process);
      std::sort(last_.begin(), last_.end());
      idle_since_ = now_;
    }
    running_.erase(ended, running_.end());
  }

  // Of several processes whose work ended at once, the first one had the device last.
  void note_switch(size_t process) {
    if (last_.empty() || now_ == idle_since_ || std::find(last_.begin(), last_.end(), process) != last_.end()) return;
    SweptSwitches& sum = switches_[{last_[0], process}];
    sum.before = last_[0];
    sum.after = process;
    sum.times++;
    sum.time += now_ - idle_since_;
    sum.longest = std::max(sum.longest, now_ - idle_since_);
  }

  SweptSharing found_;
  std::map<std::pair<size_t, size_t>, SweptSwitches> switches_;  // by the processes before and after
  std::vector<Running> running_;  // one of each process
  uint64_t now_ = 0;
  std::vector<size_t> last_;  // whose work ended when the device became idle
  uint64_t idle_since_ = 0;
};

}  // namespace

std::vector<SweptSharing> device_sharing(const std::vector<UnionInput>& inputs, bool recovers) {
  std::vector<SharedDevice> devices(places_of(inputs), SharedDevice(inputs.size()));
  for (WorkUnion all(inputs, recovers); all.next();) {
    devices[all.work().place].add(all.work().input, all.work().start, all.work().end);
  }
  std::vector<SweptSharing> found;
  for (SharedDevice& device : devices) found.push_back(device.finish());
  return found;
}

}  // namespace rlscope
