// Of any file that can be swept, slices nest within their window, and Perfetto's packets hold each of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "perfetto_writer.h"
#include "slices.h"

// Passes slices on, and checks that each begins and ends inside the one that encloses it.
class NestingSink : public rlscope::SliceSink {
 public:
  NestingSink(const rlscope::TraceFile& file, const rlscope::SliceWindow& window, rlscope::SliceSink& next)
      : file_(file), window_(window), next_(next) {}

  void add_track(const rlscope::SliceTrack& track) override {
    tracks_.emplace_back();
    next_.add_track(track);
  }
  void begin(size_t track, const rlscope::Slice& slice) override {
    check(track < tracks_.size(), "a track is added before its first slice");
    Track& on = tracks_[track];
    check(slice.start_ns >= on.now_ns && slice.start_ns >= window_.start_ticks, "slices begin in order, in the window");
    check(slice.depth == on.open, "a slice's depth is how many enclose it");
    check(static_cast<size_t>(slice.kind) < rlscope::kSliceKinds, "slices are of known kinds");
    check(slice.name < file_.names().size() && slice.operation < file_.names().size(), "slices have names");
    on.now_ns = slice.start_ns;
    on.open++;
    on.slices++;
    next_.begin(track, slice);
  }
  void end(size_t track, uint64_t end_ns) override {
    Track& on = tracks_[track];
    check(on.open > 0, "what ends was begun");
    check(on.now_ns <= end_ns && end_ns <= window_.end_ticks, "slices end in order, in the window");
    on.now_ns = end_ns;
    on.open--;
    next_.end(track, end_ns);
  }

  void check_closed(const std::vector<rlscope::SliceTrack>& found) const {
    check(found.size() == tracks_.size(), "every track was added");
    for (size_t track = 0; track < found.size(); track++) {
      check(tracks_[track].open == 0, "every slice ended");
      check(tracks_[track].slices == found[track].slices, "slices are as many as said");
    }
  }

 private:
  struct Track {
    uint64_t now_ns = 0;
    uint64_t open = 0;
    uint64_t slices = 0;
  };

  const rlscope::TraceFile& file_;
  const rlscope::SliceWindow& window_;
  rlscope::SliceSink& next_;
  std::vector<Track> tracks_;
};

// Packets lie one after the other, each behind its length, and none reaches into another write.
inline void check_packets(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    check(bytes[at++] == (1 << 3 | 2), "a packet has its tag");
    uint64_t length = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      check(at < bytes.size(), "a packet's length is whole");
      auto byte = static_cast<uint8_t>(bytes[at++]);
      length |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    check(length <= bytes.size() - at, "a packet is whole");
    at += length;
  }
}

// Times in nanoseconds are ticks here.
inline void check_slices(const std::string& path, bool recovers, uint64_t start_ticks, uint64_t end_ticks) {
  rlscope::TraceFile file(path, recovers);
  rlscope::SliceWindow window{start_ticks, end_ticks, {}, 0};
  auto name_of = [&file](uint32_t id) { return file.names()[id].text; };
  rlscope::PerfettoWriter writer(file, 1, name_of, check_packets);
  NestingSink sink(file, window, writer);
  rlscope::SliceTracks found = rlscope::walk_slices(file, window, {}, sink);
  writer.flush();
  sink.check_closed(found.tracks);
}
