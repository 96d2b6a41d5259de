// A chunk says what is open where it begins, but not since when: that is in a chunk before it.
#include "last_places.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stack_reader.h"
#include "trace_reader.h"
#include "vocabulary.h"

namespace rlscope {
namespace {

constexpr size_t kLastWindowBytes = 16 << 10;

struct Begun {
  uint32_t name;
  uint64_t start_ticks;  // 0: not known
};

struct LastPlace {
  std::vector<Begun> open;
  uint64_t last_ticks;
};

bool is_boundary(const TraceFile& file, uint32_t id) {
  return id < file.names().size() && file.names()[id].kind == NameKind::kBoundary;
}

// As the records from this chunk on tell it.
LastPlace place_from(TraceFile& file, const StreamIndex& stream, size_t first_chunk) {
  LastPlace place{{}, stream.chunks[first_chunk].base_ticks};
  StreamReader reader(file, stream, kLastWindowBytes, first_chunk);
  while (reader.next()) {
    place.last_ticks = reader.ticks();
    if (reader.is_begin()) {
      place.open.push_back({reader.id(), reader.ticks()});
    } else if (reader.type() == RecordType::kEnd) {
      if (!place.open.empty()) place.open.pop_back();
    } else if (reader.type() == RecordType::kChunkStart) {
      const std::vector<uint32_t>& frames = reader.chunk_start().open_frames;
      size_t same = 0;
      while (same < std::min(frames.size(), place.open.size()) && place.open[same].name == frames[same]) same++;
      place.open.resize(same);
      for (size_t i = same; i < frames.size(); i++) place.open.push_back({frames[i], 0});
    }
  }
  return place;
}

LastPlace last_place(TraceFile& file, const StreamIndex& stream) {
  size_t first_chunk = stream.chunks.size() - 1;
  for (;;) {
    LastPlace place = place_from(file, stream, first_chunk);
    bool is_begun = place.open.empty() || place.open.back().start_ticks || !is_boundary(file, place.open.back().name);
    if (is_begun || first_chunk == 0) return place;
    first_chunk--;
  }
}

std::string_view kind_of(const Name& name) {
  if (name.kind == NameKind::kBoundary) return category_label(name.category);
  return name.kind == NameKind::kPhase ? "phase" : "operation";
}

std::vector<StackPlace> frames_of(const TraceFile& file, uint32_t stack) {
  std::vector<StackPlace> frames;
  while (stack < file.stacks().size() && file.stacks()[stack].id != 0) {
    const StackEntry& entry = file.stacks()[stack];
    if (entry.code < file.codes().size() && file.codes()[entry.code].is_known) {
      const Code& code = file.codes()[entry.code];
      frames.push_back({code.name, code.file, entry.line});
    }
    if (entry.caller >= stack) break;
    stack = entry.caller;
  }
  return frames;
}

std::unordered_map<uint64_t, SeenStack> last_stacks(TraceFile& file) {
  std::unordered_map<uint64_t, SeenStack> stacks;
  StackReader reader(file);
  while (reader.next()) {
    if (reader.seen().stack != kTornStack) stacks[reader.seen().thread_id] = reader.seen();
  }
  return stacks;
}

}  // namespace

ProcessPlaces last_places(TraceFile& file) {
  // Before any text of the file is pointed to: the readers may load the catalog again.
  std::vector<std::pair<uint64_t, LastPlace>> places;
  for (const auto& [number, stream] : file.streams()) {
    if (!stream.chunks.empty()) places.emplace_back(stream.thread_id, last_place(file, stream));
  }
  std::unordered_map<uint64_t, SeenStack> stacks = last_stacks(file);
  ProcessPlaces found;
  for (const auto& [thread_id, place] : places) {
    ThreadPlace thread{thread_id, place.last_ticks, {}, {}, 0};
    for (const Begun& begun : place.open) {
      if (begun.name >= file.names().size()) continue;
      const Name& name = file.names()[begun.name];
      thread.calls.push_back({kind_of(name), name.text, begun.start_ticks});
    }
    if (auto seen = stacks.find(thread_id); seen != stacks.end()) {
      thread.stack = frames_of(file, seen->second.stack);
      thread.stack_ticks = seen->second.ticks;
    }
    found.threads.push_back(std::move(thread));
  }
  for (const Name& name : file.names()) {
    bool is_wait = name.kind == NameKind::kBoundary && name.category == Category::kWait;
    if (is_wait && name.text.find(' ') != std::string::npos) found.waits.push_back({name.text});
  }
  return found;
}

}  // namespace rlscope
