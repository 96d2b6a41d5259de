// What the threads of a process did between two times, event by event: for a page that is zoomed in.
#pragma once
#include <cstddef>
#include <cstdint>

#include "swept_rows.h"
#include "trace_file.h"

namespace rlscope {

// Events from `start_ticks` to `end_ticks`, of all threads together at most `most_events`, from the start of the window. By
// thread; those without events are left out. What names are is left to the caller.
EventWindow event_window(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks, size_t most_events);

}  // namespace rlscope
