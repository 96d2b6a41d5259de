// Goes through the events of one thread in a window as they open and close.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "trace_reader.h"
#include "vocabulary.h"

namespace rlscope {

struct OpenEvent {
  uint64_t start_ticks;  // not before the window
  uint32_t name;
  uint32_t operation;  // the innermost one, itself included: a name's id, or 0
  Stage stage;
};

// Tells `sink` of the events of the window, which is open at its start: what ends there is not in it. Calls
// sink.begin(event, depth) and sink.end(event, depth, now), which match, and sink.note(reader, now) for other records.
// Reads only the chunks that overlap the window: each says which events are open where it begins.
template <typename Sink>
class ThreadWalk {
 public:
  ThreadWalk(TraceFile& file, const StreamIndex& stream, uint64_t start_ticks, Sink& sink)
      : file_(file), start_ticks_(start_ticks), now_(start_ticks), sink_(sink),
        reader_(file, stream, kWindowBytes, stream.first_chunk) {}

  // Takes the next record; false if there is none in the window. Nothing begins at its end, and finish() ends there.
  bool step(uint64_t end_ticks) {
    if (!reader_.next() || reader_.ticks() > end_ticks) return false;
    now_ = std::max(now_, reader_.ticks());
    begin_open();
    apply(reader_.ticks() == end_ticks);
    return true;
  }
  // Ends what is open.
  void finish(uint64_t end_ticks) {
    now_ = std::max(now_, end_ticks);
    begin_open();
    while (!open_.empty()) end();
  }
  uint64_t now() const { return now_; }

 private:
  static constexpr size_t kWindowBytes = 64 << 10;

  void apply(bool is_at_end) {
    if (reader_.is_begin()) {
      uint64_t name = reader_.id();
      if (name < file_.names().size()) {
        if (!is_at_end) open(static_cast<uint32_t>(name));
      } else {
        reader_.reject("the name with id " + std::to_string(name) + " is not in the catalog");
      }
    } else if (reader_.type() == RecordType::kEnd) {
      if (!open_.empty() && !is_at_end) end();
    } else if (reader_.type() == RecordType::kChunkStart) {
      if (!is_at_end) match_open_frames();
    } else if (!names_what_is_known()) {
      reader_.reject("a record names what is not in the catalog");
    } else if (reader_.ticks() >= start_ticks_) {
      sink_.note(reader_, now_);
    }
  }

  // A record that opens and closes nothing.
  bool names_what_is_known() const {
    if (reader_.type() == RecordType::kTask) return reader_.task().operation < file_.names().size();
    return reader_.type() != RecordType::kCollective || reader_.collective().name < file_.names().size();
  }

  // Where the header of a chunk differs from what was read before it, the header holds.
  void match_open_frames() {
    const std::vector<uint32_t>& frames = reader_.chunk_start().open_frames;
    size_t same = 0;
    while (same < std::min(frames.size(), open_.size()) && open_[same].name == frames[same]) same++;
    while (open_.size() > same) end();
    for (size_t i = same; i < frames.size(); i++) {
      if (frames[i] < file_.names().size()) open(frames[i]);
    }
  }

  void open(uint32_t id) {
    OpenEvent event{now_, id, 0, Stage::kNone};
    if (!open_.empty()) {
      event.operation = open_.back().operation;
      event.stage = open_.back().stage;
    }
    const Name& name = file_.names()[id];
    if (name.kind == NameKind::kOperation) {
      event.operation = id;
      event.stage = inner_stage(event.stage, stage_of_name(name.text));
    }
    open_.push_back(event);
    begin_open();
  }

  void begin_open() {
    if (now_ <= start_ticks_) return;
    for (; begun_ < open_.size(); begun_++) sink_.begin(open_[begun_], static_cast<uint32_t>(begun_));
  }

  void end() {
    OpenEvent event = open_.back();
    open_.pop_back();
    if (begun_ <= open_.size()) return;
    begun_--;
    sink_.end(event, static_cast<uint32_t>(begun_), now_);
  }

  TraceFile& file_;
  uint64_t start_ticks_;
  uint64_t now_;
  Sink& sink_;
  StreamReader reader_;
  std::vector<OpenEvent> open_;
  size_t begun_ = 0;  // of the open ones
};

}  // namespace rlscope
