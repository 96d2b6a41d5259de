// Keeps the events of each thread in the window, and puts them in order of their start.
#include "event_window.h"

#include <algorithm>
#include <numeric>

#include "thread_walk.h"

namespace rlscope {
namespace {

// Takes events where they end.
struct Collector {
  ThreadEvents found;

  void begin(const OpenEvent&, uint32_t) {}
  void note(const StreamReader&, uint64_t) {}
  void end(const OpenEvent& event, uint32_t depth, uint64_t now) {
    found.starts.push_back(event.start_ticks);
    found.ends.push_back(now);
    found.names.push_back(event.name);
    found.depths.push_back(depth);
  }
};

void sort(ThreadEvents& found) {
  std::vector<size_t> order(found.starts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&found](size_t a, size_t b) {
    if (found.starts[a] != found.starts[b]) return found.starts[a] < found.starts[b];
    return found.depths[a] != found.depths[b] ? found.depths[a] < found.depths[b] : found.ends[a] < found.ends[b];
  });
  auto sorted = [&order](auto& column) {
    auto result = column;
    for (size_t i = 0; i < order.size(); i++) result[i] = column[order[i]];
    column = std::move(result);
  };
  sorted(found.starts);
  sorted(found.ends);
  sorted(found.names);
  sorted(found.depths);
}

// Leaves what the thread did before `end_ticks`.
void cut(ThreadEvents& events, uint64_t end_ticks) {
  auto behind = std::lower_bound(events.starts.begin(), events.starts.end(), end_ticks);
  auto count = static_cast<size_t>(behind - events.starts.begin());
  events.starts.resize(count);
  events.ends.resize(count);
  events.names.resize(count);
  events.depths.resize(count);
  for (uint64_t& end : events.ends) end = std::min(end, end_ticks);
}

}  // namespace

EventWindow event_window(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks, size_t most_events) {
  file.start_at(start_ticks);
  EventWindow window{end_ticks, {}, {}};
  size_t each = std::max<size_t>(most_events / std::max<size_t>(file.streams().size(), 1), 1);
  for (const auto& [number, stream] : file.streams()) {
    if (stream.first_ticks >= window.end_ticks) continue;
    Collector events{{number, {}, {}, {}, {}}};
    ThreadWalk walk(file, stream, start_ticks, events);
    while (events.found.starts.size() < each && walk.step(window.end_ticks)) {
    }
    // Of more events than are wanted, the window ends where the last one does that was read.
    if (events.found.starts.size() >= each) window.end_ticks = walk.now();
    walk.finish(window.end_ticks);
    sort(events.found);
    window.threads.push_back(std::move(events.found));
  }
  for (ThreadEvents& events : window.threads) cut(events, window.end_ticks);
  auto is_empty = [](const ThreadEvents& events) { return events.starts.empty(); };
  window.threads.erase(std::remove_if(window.threads.begin(), window.threads.end(), is_empty), window.threads.end());
  return window;
}

}  // namespace rlscope
