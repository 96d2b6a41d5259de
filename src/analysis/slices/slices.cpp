// Threads one after the other, each in order of time, then device work in order of its start.
#include "slices.h"

#include <algorithm>

#include "device_reader.h"
#include "thread_walk.h"

namespace rlscope {
namespace {

constexpr unsigned kSequenceBits = 40;  // of a flow's id; behind them is the communicator

// Of a damaged file more ticks may have passed than there were.
uint64_t before(uint64_t now, uint64_t elapsed) { return now - std::min(now, elapsed); }

// Slices that may overlap: each goes into the lane that has been free for the shortest time, so there are as few as can be,
// whether slices come in the order of their starts or of their ends.
class Lanes {
 public:
  size_t lane_for(uint64_t start, uint64_t end) {
    size_t lane = free_from_.size();
    auto later = free_from_.upper_bound(start);
    if (later != free_from_.begin()) {
      --later;
      lane = later->second;
      free_from_.erase(later);
    }
    free_from_.emplace(end, lane);
    return lane;
  }

 private:
  std::multimap<uint64_t, size_t> free_from_;  // the lane, by the end of its last slice
};

class Walk {
 public:
  Walk(TraceFile& file, const SliceWindow& window, const std::map<std::string, uint64_t>& communicators, SliceSink& sink)
      : file_(file), window_(window), communicators_(communicators), sink_(sink) {}

  SliceTracks run() {
    // Of a whole life work counts too that began long before, in another chunk.
    if (window_.start_ticks > file_.header().start_ticks) file_.start_at(window_.start_ticks);
    for (const auto& [number, stream] : file_.streams()) {
      if (stream.first_ticks <= window_.end_ticks) walk(stream);
    }
    walk_devices();
    return std::move(found_);
  }

  void begin(const OpenEvent& event, uint32_t depth) {
    if (!has_track_) thread_track_ = lane(TrackKind::kThread, 0);
    has_track_ = true;
    found_.tracks[thread_track_].slices++;
    sink_.begin(thread_track_, slice(event, depth));
  }
  void end(const OpenEvent&, uint32_t, uint64_t now) { sink_.end(thread_track_, window_.ns(now)); }
  void note(const StreamReader& reader, uint64_t now) {
    if (reader.type() == RecordType::kTask) {
      const TaskEnd& task = reader.task();
      Stage stage = inner_stage(Stage::kNone, stage_of_name(file_.names()[task.operation].text));
      add(TrackKind::kTasks, before(now, task.elapsed_ticks), now, {0, SliceKind::kTask, task.operation, task.operation, stage, 0, 0});
    } else if (reader.type() == RecordType::kCollective) {
      const CollectiveEnd& call = reader.collective();
      uint64_t called = before(now, call.elapsed_ticks);
      // When a call ended that nobody waited for is not known.
      add(TrackKind::kCollectives, called, call.is_unwaited ? called : now,
          {0, SliceKind::kCollective, call.name, 0, Stage::kNone, 0, flow_of(call)});
    } else if (reader.type() == RecordType::kProgress) {
      found_.progress_ns.push_back(window_.ns(now));
      found_.timesteps.push_back(reader.progress().timesteps);
    }
  }

 private:
  void walk(const StreamIndex& stream) {
    stream_ = stream.stream;
    has_track_ = false;
    ThreadWalk walk(file_, stream, window_.start_ticks, *this);
    while (walk.step(window_.end_ticks)) {
    }
    walk.finish(window_.end_ticks);
    lanes_.clear();
  }

  void walk_devices() {
    DeviceMerge records(file_);
    while (records.has_next() && records.next_ticks() <= window_.end_ticks) {
      WorkRecord record = records.take();
      if (!is_device_work(record.work)) continue;
      stream_ = record.queue;
      const LaunchSite& site = file_.launch_sites()[record.launch_site];
      auto kind = static_cast<SliceKind>(static_cast<uint32_t>(SliceKind::kPhase) + record.work);
      add(TrackKind::kQueue, record.start_ticks, record.end_ticks, {0, kind, record.name, site.operation, site.stage, 0, 0});
    }
  }

  Slice slice(const OpenEvent& event, uint32_t depth) const {
    const Name& name = file_.names()[event.name];
    SliceKind kind = name.kind == NameKind::kBoundary ? static_cast<SliceKind>(name.category)
                     : name.kind == NameKind::kPhase  ? SliceKind::kPhase
                                                      : SliceKind::kOperation;
    return {window_.ns(event.start_ticks), kind, event.name, event.operation, event.stage, depth, 0};
  }

  // A slice on a track of lanes. One that takes time in the window is in it, and one that takes none and lies there.
  void add(TrackKind kind, uint64_t start_ticks, uint64_t end_ticks, Slice slice) {
    uint64_t start = std::max(start_ticks, window_.start_ticks), end = std::min(end_ticks, window_.end_ticks);
    if (start > end || (start == end && start_ticks != end_ticks)) return;
    size_t track = lane(kind, lanes_[{kind, stream_}].lane_for(start, end));
    found_.tracks[track].slices++;
    slice.start_ns = window_.ns(start);
    sink_.begin(track, slice);
    sink_.end(track, window_.ns(end));
  }

  size_t lane(TrackKind kind, size_t number) {
    auto [found, is_new] = places_.try_emplace({kind, stream_, number}, found_.tracks.size());
    if (is_new) {
      SliceTrack track{kind, stream_, static_cast<uint32_t>(number)};
      if (const QueueEntry* queue = kind == TrackKind::kQueue ? file_.queue(stream_) : nullptr) {
        track.device = queue->device;
        track.cuda_stream = queue->cuda_stream;
      }
      found_.tracks.push_back(track);
      sink_.add_track(track);
    }
    return found->second;
  }

  uint64_t flow_of(const CollectiveEnd& call) const {
    const std::string& text = file_.names()[call.name].text;
    auto known = communicators_.find(text.substr(text.find(' ') + 1));
    return known == communicators_.end() ? 0 : (known->second << kSequenceBits) + call.sequence;
  }

  TraceFile& file_;
  const SliceWindow& window_;
  const std::map<std::string, uint64_t>& communicators_;
  SliceSink& sink_;
  uint32_t stream_ = 0;
  bool has_track_ = false;  // the thread: one without events has none
  size_t thread_track_ = 0;
  std::map<std::pair<TrackKind, uint32_t>, Lanes> lanes_;
  std::map<std::tuple<TrackKind, uint32_t, size_t>, size_t> places_;
  SliceTracks found_;
};

}  // namespace

SliceTracks walk_slices(TraceFile& file, const SliceWindow& window, const std::map<std::string, uint64_t>& communicators,
                        SliceSink& sink) {
  return Walk(file, window, communicators, sink).run();
}

}  // namespace rlscope
