// Steps from one start or end of device work to the next.
#include "process_devices.h"

namespace rlscope {

ProcessDevices::ProcessDevices(TraceFile& file, uint64_t since, uint64_t end, uint64_t counted_from,
                               bool belongs_to_launch)
    : file_(file),
      has_any_(!file.device_chunks().empty()),
      has_several_(has_several_devices(file)),
      belongs_to_launch_(belongs_to_launch),
      timeline_(file, since, end, counted_from),
      next_ticks_(timeline_.next_ticks()) {}

bool ProcessDevices::step(uint64_t now, NameCatalog& names) {
  timeline_.step();
  next_ticks_ = timeline_.next_ticks();
  working_ = timeline_.working();
  bool is_any = timeline_.is_running();
  size_t cells = !is_any ? 0 : timeline_.only_communicates() ? kDeviceCommunicates : kDeviceComputes;
  bool changes = cells != cells_;
  if (changes) {
    worked_ticks_ = worked_ticks(now);
    works_since_ = now;
    cells_ = cells;
  }
  if (are_launchs()) launch_scope_ = names.scope_of(file_.launch_sites()[timeline_.launch_site()]);
  return changes;
}

}  // namespace rlscope
