// Which work runs, and who is charged for the time of the devices.
#include "device_timeline.h"

#include <algorithm>

namespace rlscope {

void RunningWork::start(uint64_t end_ticks, uint32_t launch_site, uint64_t now) {
  // Behind work that runs for long, any number of others may end: cleaning up costs no more than they did.
  if (work_.size() >= next_cleaning_) {
    auto has_ended = [now](const Work& work) { return work.end_ticks <= now; };
    work_.erase(std::remove_if(work_.begin(), work_.end(), has_ended), work_.end());
    next_cleaning_ = 16 + 2 * work_.size();
  }
  work_.push_back({end_ticks, launch_site});
}

void RunningWork::end(uint64_t now) {
  while (!work_.empty() && work_.front().end_ticks <= now) work_.pop_front();
}

DeviceTimeline::DeviceTimeline(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks, uint64_t counted_from)
    : records_(file),
      start_ticks_(start_ticks),
      end_ticks_(end_ticks),
      counted_from_(counted_from) {}

uint64_t DeviceTimeline::clipped(uint64_t ticks) const {
  return std::min(std::max(ticks, start_ticks_), end_ticks_);
}

uint64_t DeviceTimeline::next_ticks() const {
  uint64_t ticks = records_.has_next() ? records_.next_ticks() : kNever;
  return ends_.empty() ? ticks : std::min(ticks, ends_.top().first);
}

void DeviceTimeline::step() {
  uint64_t now = next_ticks();
  end(now);
  while (records_.has_next() && records_.next_ticks() == now) start(records_.take());
}

void DeviceTimeline::start(const WorkRecord& record) {
  last_ticks_ = std::max(last_ticks_, record.end_ticks);
  if (record.start_ticks < counted_from_ && record.end_ticks <= counted_from_) return;
  if (!is_device_work(record.work)) {
    host_sums_[record.work - kCuptiWork][record.name] += clipped(record.end_ticks) - clipped(record.start_ticks);
    return;
  }
  Device& device = devices_[record.device];
  if (!device.totals) {
    device.totals = &totals_[record.device];
    device.digit = uint64_t{1} << record.device % 64;
    seen_ |= device.digit;
  }
  count(record, *device.totals);
  if (record.start_ticks == record.end_ticks) return;
  if (!device.running.is_any()) device.charged_until = record.start_ticks;
  if (device.running.is_taken_over_by(record)) charge(device, record.start_ticks);
  if (record.communicates && !device.running.communicates()) device.communicates_since = record.start_ticks;
  device.running.start(record);
  running_.start(record);
  working_ |= device.digit;
  ends_.push({record.end_ticks, &device});
}

void DeviceTimeline::count(const WorkRecord& record, DeviceTotals& totals) {
  WorkSum& of_kind = record.work == kKernel ? totals.kernels : record.work == kCopy ? totals.copies : totals.memsets;
  WorkSum& of_name = totals.work[uint64_t{record.launch_site} << 32 | record.name];
  bool is_piece = record.start_ticks >= counted_from_;
  WorkSum sum{is_piece, clipped(record.end_ticks) - clipped(record.start_ticks), is_piece ? record.bytes : 0};
  of_kind += sum;
  of_name += sum;
  totals.of_launch_site[record.launch_site].kernels += is_piece && record.work == kKernel;
}

// The time of a device belongs to its owner, from when it became that to its end or to when another one takes over.
void DeviceTimeline::charge(Device& device, uint64_t now) {
  uint64_t ticks = clipped(now) - clipped(device.charged_until);
  uint64_t exposed_ticks = device.running.only_communicates() ? ticks : 0;
  LaunchSiteSum& sum = device.totals->of_launch_site[device.running.owner()];
  device.totals->busy_ticks += ticks;
  device.totals->exposed_ticks += exposed_ticks;
  sum.busy_ticks += ticks;
  sum.exposed_ticks += exposed_ticks;
  device.charged_until = now;
}

void DeviceTimeline::end(uint64_t now) {
  for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) {
    Device& device = *ends_.top().second;
    if (!device.running.is_any()) continue;
    if (device.running.owner_ends(now)) charge(device, now);
    bool communicated = device.running.communicates();
    device.running.end(now);
    if (communicated && !device.running.communicates()) {
      device.totals->communication_ticks += clipped(now) - clipped(device.communicates_since);
    }
    if (!device.running.is_any()) working_ &= ~device.digit;
  }
  running_.end(now);
}

}  // namespace rlscope
