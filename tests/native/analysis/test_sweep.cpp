// The sweep where Python tests do not reach: window sizes, a catalog that grows while it is read.
#include "sweep.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace_bytes.h"

namespace rlscope {
namespace {

TEST(Sweep, AddsUpALongInterleavedTrace) {
  constexpr int kPairs = 100000;
  std::string bytes = file_header(0, 20 * kPairs) + catalog(name_entry(1, NameKind::kBoundary, Category::kBackend, "f") +
                                                            name_entry(2, NameKind::kBoundary, Category::kSimulator, "g"));
  // Thread 0 is in f for 4 of 20 ticks, thread 1 in g for 3 of 20; 1 tick of each overlaps, and belongs to g.
  std::string backend;
  std::string simulator;
  for (int i = 0; i < kPairs; i++) {
    backend += begin_record(i ? 16 : 0, 1) + end_record(4);
    simulator += begin_record(i ? 17 : 3, 2) + end_record(3);
  }
  bytes += chunk({ChunkKind::kEvents, 1, 0, 0, true, {}}, simulator) + chunk({}, backend);
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), false);
  SweepResult result = sweep(trace, {});
  ASSERT_EQ(result.breakdown.size(), 3u);
  EXPECT_EQ(result.breakdown[0].category, Category::kPython);
  // Outside its call the main thread is in Python, which comes before the other thread's simulator.
  EXPECT_EQ(result.breakdown[0].ticks, 16u * kPairs);
  EXPECT_EQ(result.breakdown[1].ticks, 1u * kPairs);
  EXPECT_EQ(result.breakdown[2].ticks, 3u * kPairs);
  EXPECT_EQ(result.crossings["f"], static_cast<uint64_t>(kPairs));
}

TEST(Sweep, LearnsNamesThatAreAddedWhileItReads) {
  ChunkOptions open;
  open.is_closed = false;
  ChunkOptions open_catalog{ChunkKind::kCatalog, kNoStream, 0, 0, false, {}};
  std::string first = name_entry(1, NameKind::kOperation, Category::kPython, "early");
  std::string second = name_entry(2, NameKind::kOperation, Category::kPython, "late");
  std::string header = file_header(0, 0);
  std::string events = chunk(open, begin_record(10, 1) + begin_record(10, 2) + end_record(10));
  TemporaryFile file(header + chunk(open_catalog, first) + events);
  TraceFile trace(file.path(), false);
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary)
      << header << chunk(open_catalog, first + second) << events;
  SweepResult result = sweep(trace, {});
  ASSERT_EQ(result.breakdown.size(), 3u);
  EXPECT_EQ(result.breakdown[2].operation, "late");
  EXPECT_EQ(result.breakdown[2].ticks, 10u);
}

TEST(Sweep, RowsShareTheirLongNames) {
  std::string names = name_entry(1, NameKind::kOperation, Category::kPython, std::string(60000, 'n'));
  std::string payload = begin_record(1, 1);
  for (uint32_t id = 2; id < 60; id++) {
    names += name_entry(id, NameKind::kPhase, Category::kPython, std::to_string(id));
    payload += begin_record(1, id) + end_record(1);
  }
  TemporaryFile file(file_header(0, 1000) + catalog(names) + chunk({}, payload));
  TraceFile trace(file.path(), false);
  SweepResult result = sweep(trace, {});
  ASSERT_EQ(result.breakdown.size(), 60u);
  for (size_t row = 2; row < 60; row++) {
    EXPECT_EQ(result.breakdown[row].operation.data(), result.breakdown[1].operation.data());
  }
}

TEST(Sweep, RefusesMoreRowsByThreadThanTheFileCanNeed) {
  constexpr uint32_t kThreads = 64;
  constexpr uint32_t kPhases = 2500;
  std::string names = name_entry(1, NameKind::kOperation, Category::kPython, "step");
  std::string phases;
  for (uint32_t id = 2; id < kPhases; id++) {
    names += name_entry(id, NameKind::kPhase, Category::kPython, std::to_string(id));
    phases += begin_record(1, id) + end_record(1);
  }
  std::string bytes = file_header(0, 10000) + catalog(names);
  for (uint32_t stream = 0; stream < kThreads; stream++) {
    bytes += chunk({ChunkKind::kEvents, stream, 0, 0, true, {}}, stream ? begin_record(0, 1) : phases);
  }
  TemporaryFile file(bytes);
  for (bool recovers : {false, true}) {
    TraceFile trace(file.path(), recovers);
    EXPECT_GT(sweep(trace, {}).breakdown.size(), kPhases - 2);
    EXPECT_THROW(sweep(trace, {0, true}), TraceDamage);
  }
}

TEST(Sweep, RefusesMoreWaitsThanTheFileCanHave) {
  constexpr uint32_t kWaits = 300;
  constexpr uint32_t kPhases = 300;
  std::string names;
  for (uint32_t id = 1; id < kWaits + kPhases; id++) {
    NameKind kind = id < kWaits ? NameKind::kBoundary : NameKind::kPhase;
    names += name_entry(id, kind, id < kWaits ? Category::kWait : Category::kPython, std::to_string(id));
  }
  // Three bytes a phase, each of which goes on with the wait that is open.
  std::string events;
  for (uint32_t wait = 1; wait < kWaits; wait++) {
    events += begin_record(1, wait);
    for (uint32_t phase = kWaits; phase < kWaits + kPhases; phase++) events += begin_record(1, phase);
  }
  TemporaryFile file(file_header(0, 1000000) + catalog(names) + chunk({}, events));
  for (bool recovers : {false, true}) {
    TraceFile trace(file.path(), recovers);
    EXPECT_THROW(sweep(trace, {}), TraceDamage);
  }
}

TEST(Sweep, LearnsWaitsThatAreAddedWhileTheProcessWaits) {
  ChunkOptions open;
  open.is_closed = false;
  ChunkOptions open_catalog{ChunkKind::kCatalog, kNoStream, 0, 0, false, {}};
  std::string first = name_entry(1, NameKind::kBoundary, Category::kWait, "recv socket:[1]");
  std::string second;
  std::string events = begin_record(10, 1);
  for (uint32_t id = 2; id < 90; id++) {
    second += name_entry(id, NameKind::kBoundary, Category::kWait, "recv socket:[" + std::to_string(id % 3) + "]");
    events += begin_record(5, id) + end_record(2);
  }
  std::string header = file_header(0, 0);
  TemporaryFile file(header + chunk(open_catalog, first) + chunk(open, events));
  TraceFile trace(file.path(), false);
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary)
      << header << chunk(open_catalog, first + second) << chunk(open, events);
  SweepResult result = sweep(trace, {1000});
  // Names that read the same are one row: the 1st, 4th, 7th ... to the 88th; the first one goes on to the end.
  ASSERT_EQ(result.waits.size(), 3u);
  EXPECT_EQ(result.waits[1].boundary, "recv socket:[1]");
  EXPECT_EQ(result.waits[1].entries, 30u);
  EXPECT_EQ(result.waits[1].ticks, 990u - 2 * 59);
  EXPECT_EQ(result.waits[1].in_operations_ticks, 0u);
  EXPECT_EQ(result.waits[0].ticks + result.waits[2].ticks, 2u * 59);
  EXPECT_EQ(result.crossings["recv"], 89u);
}

}  // namespace
}  // namespace rlscope
