// What the devices do for a process at an instant, and whose time it is then: rules 4 and 5 of docs/analysis.md.
#pragma once
#include <cstddef>
#include <cstdint>

#include "breakdown_cells.h"
#include "device_timeline.h"
#include "name_catalog.h"
#include "trace_file.h"

namespace rlscope {

class ProcessDevices {
 public:
  // Counts work from `since` to `end`, and of what began before `counted_from` only its time. `belongs_to_launch`: time in
  // which a device works and the process waits is that of the operation which launched the work.
  ProcessDevices(TraceFile& file, uint64_t since, uint64_t end, uint64_t counted_from, bool belongs_to_launch);

  uint64_t next_ticks() const { return next_ticks_; }  // when something starts or ends; kNever: all is done
  // Goes there; time is at `now`. Returns whether it counts in other cells from now on.
  bool step(uint64_t now, NameCatalog& names);
  // At the end of the process.
  void finish() { timeline_.finish(); }

  bool work() const { return cells_ != 0; }
  size_t cells() const { return cells_; }  // the first of rows in which time counts: 0, kDeviceComputes, kDeviceCommunicates
  uint64_t working() const { return working_; }  // which ones, as in SweptProcessIdle
  // In which one has worked, up to `now`.
  uint64_t worked_ticks(uint64_t now) const { return worked_ticks_ + (work() ? now - works_since_ : 0); }
  // The operation that launched what works, where time is that one's.
  bool are_launchs() const { return belongs_to_launch_ && work(); }
  Scope launch_scope() const { return launch_scope_; }
  // Whether time is to be added up by what the process does meanwhile, which waits or does not.
  bool are_idle(bool waits) const { return work() ? has_several_ : waits && has_any_; }
  const DeviceTimeline& timeline() const { return timeline_; }

 private:
  const TraceFile& file_;
  bool has_any_;  // which work for the process, or may
  bool has_several_;
  bool belongs_to_launch_;
  DeviceTimeline timeline_;
  uint64_t next_ticks_;
  size_t cells_ = 0;
  uint64_t working_ = 0;
  uint64_t worked_ticks_ = 0, works_since_ = 0;  // up to the last change of cells
  Scope launch_scope_ = 0;                       // of the earliest started work, while a device works
};

}  // namespace rlscope
