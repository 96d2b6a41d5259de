// What the threads of a process did between two times, event by event: for a page that is zoomed in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace_file.h"

namespace rlscope {

// One entry of each column per event, in order of start; of several with one start the outer one is first.
struct ThreadEvents {
  uint32_t stream;
  std::vector<uint64_t> starts;  // in ticks; events are clipped to the window
  std::vector<uint64_t> ends;
  std::vector<uint32_t> names;   // ids in the file's catalog
  std::vector<uint32_t> depths;  // how many events of the thread enclose it
};

struct EventWindow {
  uint64_t end_ticks;  // earlier than asked for if there are too many events
  std::vector<ThreadEvents> threads;  // by stream; those without events are left out
};

// Events from `start_ticks` to `end_ticks`, of all threads together at most `most_events`, from the start of the window.
EventWindow event_window(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks, size_t most_events);

}  // namespace rlscope
