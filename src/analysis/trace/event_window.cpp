// Reads only the chunks that overlap the window: each says which frames are open where it begins.
#include "event_window.h"

#include <algorithm>
#include <numeric>

#include "trace_reader.h"

namespace rlscope {
namespace {

constexpr size_t kWindowBytes = 64 << 10;

struct OpenEvent {
  uint64_t start_ticks;
  uint32_t name;
};

class ThreadWindow {
 public:
  ThreadWindow(TraceFile& file, const StreamIndex& stream, uint64_t start_ticks, uint64_t end_ticks, size_t most_events)
      : file_(file), start_ticks_(start_ticks), end_ticks_(end_ticks), most_events_(most_events), found_{stream.stream, {}, {}, {}, {}},
        reader_(file, stream, kWindowBytes, stream.first_chunk) {}

  ThreadEvents read() {
    uint64_t now = start_ticks_;
    while (reader_.next() && reader_.ticks() < end_ticks_ && found_.starts.size() < most_events_) {
      now = std::max(now, reader_.ticks());
      apply(now);
    }
    // Of more events than are wanted, the window ends where the last one does that was read.
    if (found_.starts.size() >= most_events_) end_ticks_ = now;
    while (!open_.empty()) end(end_ticks_);
    sort();
    return std::move(found_);
  }
  uint64_t end_ticks() const { return end_ticks_; }

 private:
  void apply(uint64_t now) {
    if (reader_.type() == RecordType::kBegin) {
      uint64_t name = reader_.take_id();
      if (name < file_.names().size()) {
        open_.push_back({now, static_cast<uint32_t>(name)});
      } else {
        reader_.reject("the name with id " + std::to_string(name) + " is not in the catalog");
      }
    } else if (reader_.type() == RecordType::kEnd) {
      if (!open_.empty()) end(now);
    } else if (reader_.type() == RecordType::kChunkStart) {
      match_open_frames(now);
    }
  }

  // Where the header of a chunk differs from what was read before it, the header holds.
  void match_open_frames(uint64_t now) {
    const std::vector<uint32_t>& frames = reader_.open_frames();
    size_t same = 0;
    while (same < std::min(frames.size(), open_.size()) && open_[same].name == frames[same]) same++;
    while (open_.size() > same) end(now);
    for (size_t i = same; i < frames.size(); i++) {
      if (frames[i] < file_.names().size()) open_.push_back({now, frames[i]});
    }
  }

  void end(uint64_t now) {
    OpenEvent event = open_.back();
    open_.pop_back();
    if (now <= start_ticks_) return;
    found_.starts.push_back(event.start_ticks);
    found_.ends.push_back(now);
    found_.names.push_back(event.name);
    found_.depths.push_back(static_cast<uint32_t>(open_.size()));
  }

  void sort() {
    std::vector<size_t> order(found_.starts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      if (found_.starts[a] != found_.starts[b]) return found_.starts[a] < found_.starts[b];
      return found_.depths[a] != found_.depths[b] ? found_.depths[a] < found_.depths[b] : found_.ends[a] < found_.ends[b];
    });
    auto sorted = [&order](auto& column) {
      auto result = column;
      for (size_t i = 0; i < order.size(); i++) result[i] = column[order[i]];
      column = std::move(result);
    };
    sorted(found_.starts);
    sorted(found_.ends);
    sorted(found_.names);
    sorted(found_.depths);
  }

  TraceFile& file_;
  uint64_t start_ticks_;
  uint64_t end_ticks_;
  size_t most_events_;
  ThreadEvents found_;
  StreamReader reader_;
  std::vector<OpenEvent> open_;
};

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
  EventWindow window{end_ticks, {}};
  size_t each = std::max<size_t>(most_events / std::max<size_t>(file.streams().size(), 1), 1);
  for (const auto& [number, stream] : file.streams()) {
    if (stream.first_ticks >= window.end_ticks) continue;
    ThreadWindow thread(file, stream, start_ticks, window.end_ticks, each);
    window.threads.push_back(thread.read());
    window.end_ticks = thread.end_ticks();
  }
  for (ThreadEvents& events : window.threads) cut(events, window.end_ticks);
  auto is_empty = [](const ThreadEvents& events) { return events.starts.empty(); };
  window.threads.erase(std::remove_if(window.threads.begin(), window.threads.end(), is_empty), window.threads.end());
  return window;
}

}  // namespace rlscope
