// What one process did between two times, slice by slice on tracks where slices nest: what files for other programs have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "swept_rows.h"
#include "trace_file.h"
#include "work_union.h"

namespace rlscope {

// Of a boundary its category's number; device work counts on from kPhase.
enum class SliceKind : uint8_t { kOperation = name_categories(), kPhase, kKernel, kCopy, kMemset, kTask, kCollective };
constexpr const char* kOtherSliceKinds[] = {"operation", "phase", "kernel", "copy", "memset", "task", "collective"};
constexpr size_t kSliceKinds = name_categories() + std::size(kOtherSliceKinds);
inline const char* slice_kind_label(size_t kind) {
  return kind < name_categories() ? kCategoryColumns[kind].label : kOtherSliceKinds[kind - name_categories()];
}

enum class TrackKind : uint8_t { kThread, kQueue, kTasks, kCollectives };
constexpr const char* kTrackKinds[] = {"thread", "queue", "tasks", "collectives"};

// Times are in nanoseconds from the start of the run.
struct Slice {
  uint64_t start_ns;
  SliceKind kind;
  uint32_t name;       // ids in the file's catalog
  uint32_t operation;  // the innermost one, of device work that which launched it; 0: none
  Stage stage;
  uint32_t depth;      // how many slices of the track enclose it
  uint64_t flow;       // the same for all parts of a call of a communicator; 0: none
};

// Each slice is begun and ended once; on a track in the order of time, the inner one within the outer one.
class SliceSink {
 public:
  virtual ~SliceSink() = default;
  // Tracks are counted from 0 in the order in which they are added, each before its first slice.
  virtual void add_track(const SliceTrack&) {}
  virtual void begin(size_t track, const Slice& slice) = 0;
  virtual void end(size_t track, uint64_t end_ns) = 0;  // the innermost one of the track
};

struct SliceWindow {
  uint64_t start_ticks;
  uint64_t end_ticks;
  ClockMap clock;      // into nanoseconds since 1970
  uint64_t origin_ns;  // the start of the run, not after start_ticks

  uint64_t ns(uint64_t ticks) const { return clock(ticks) - origin_ns; }
};

// Gives `sink` the slices of a process, clipped to the window, and returns their tracks. Of tasks and of calls of
// communicators it has those that end in the window; of a part of a life not the work of a queue that began in a chunk
// before the last two there. `communicators` has a number from 1 for each, by label.
SliceTracks walk_slices(TraceFile& file, const SliceWindow& window, const std::map<std::string, uint64_t>& communicators,
                        SliceSink& sink);

}  // namespace rlscope
