// Detail of the sweep: functions, bins, iterations, instances of operations, and the events of a window.
#include <gtest/gtest.h>

#include "event_window.h"
#include "sweep.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

std::string progress_record(uint64_t delta, uint64_t timesteps) {
  return varint(delta << 2 | kOther) + varint(kProgress) + varint(0 + 1) + varint(timesteps + 1) + varint(0 + 1);
}

std::string names() {
  return catalog(name_entry(1, NameKind::kBoundary, Category::kBackend, "add") +
                 name_entry(2, NameKind::kBoundary, Category::kBackend, "mul") +
                 name_entry(3, NameKind::kOperation, Category::kPython, "simulation"));
}

// The sweep of a thread's events in a process that lived from 0 to `end_ticks`.
class Detailed {
 public:
  Detailed(const std::string& events, uint64_t end_ticks, const std::vector<uint64_t>& borders = {})
      : file_(file_header(0, end_ticks) + names() + chunk({}, events)), trace_(file_.path(), false) {
    SweepOptions options;
    options.borders = &borders;
    result_ = sweep(trace_, options);
  }

  const DetailResult& detail() const { return *result_.detail; }

 private:
  TemporaryFile file_;
  TraceFile trace_;
  SweepResult result_;
};

uint64_t ticks_of(const DetailResult& detail, const std::string& function) {
  uint64_t ticks = 0;
  for (const SweptFunction& row : detail.functions) ticks += row.function == function ? row.ticks : 0;
  return ticks;
}

TEST(Detail, TellsFunctionsOfOneCategoryApart) {
  // add from 10 to 14, with mul from 11 to 13 inside; mul from 20 to 27.
  std::string events = begin_record(10, 1) + begin_record(1, 2) + end_record(2) + end_record(1) + begin_record(6, 2) +
                       end_record(7);
  Detailed swept(events, 30);
  EXPECT_EQ(ticks_of(swept.detail(), "add"), 2u);
  EXPECT_EQ(ticks_of(swept.detail(), "mul"), 9u);
  EXPECT_EQ(ticks_of(swept.detail(), ""), 19u);
  EXPECT_TRUE(swept.detail().bins.empty());
}

TEST(Detail, FillsBinsExactly) {
  std::string events = begin_record(8, 1) + end_record(14);
  Detailed swept(events, 30, {10, 20, 30});
  std::vector<std::tuple<uint32_t, Category, uint64_t>> found;
  for (const BinEntry& entry : swept.detail().bins) {
    found.emplace_back(entry.bin, swept.detail().series[entry.series].category, entry.ticks);
  }
  std::vector<std::tuple<uint32_t, Category, uint64_t>> expected{
      {0, Category::kPython, 8}, {0, Category::kBackend, 2}, {1, Category::kBackend, 10}, {2, Category::kBackend, 2},
      {2, Category::kPython, 8}};
  EXPECT_EQ(found, expected);
}

TEST(Detail, SplitsTimeIntoIterationsBetweenReports) {
  std::string events = begin_record(5, 1) + end_record(1) + progress_record(4, 0) + begin_record(2, 1) + end_record(3) +
                       progress_record(5, 1) + progress_record(7, 2);
  Detailed swept(events, 40);
  const DetailResult& detail = swept.detail();
  ASSERT_EQ(detail.iterations.size(), 2u);
  EXPECT_EQ(detail.iterations[0].start_ticks, 10u);
  EXPECT_EQ(detail.iterations[0].end_ticks, 20u);
  EXPECT_EQ(detail.iterations[1].end_ticks, 27u);
  std::map<std::pair<uint32_t, std::string_view>, uint64_t> found;
  for (const IterationEntry& entry : detail.iteration_entries) {
    found[{entry.iteration, detail.functions[entry.cell].function}] += entry.ticks;
  }
  std::map<std::pair<uint32_t, std::string_view>, uint64_t> expected{{{0, ""}, 7}, {{0, "add"}, 3}, {{1, ""}, 7}};
  EXPECT_EQ(found, expected);
}

TEST(Detail, LeavesTheSlowestOfManyIterations) {
  constexpr uint32_t kIterations = 40000;
  constexpr uint32_t kSlow = 12345;
  std::string events = progress_record(0, 0);
  for (uint32_t i = 0; i < kIterations; i++) events += progress_record(i == kSlow ? 500 : 10, i + 1);
  Detailed swept(events, 0);
  EXPECT_EQ(swept.detail().iterations.size(), kIterations);
  size_t slow = 0;
  for (const IterationEntry& entry : swept.detail().iteration_entries) slow += entry.iteration == kSlow;
  EXPECT_EQ(slow, 1u);
  EXPECT_LT(swept.detail().iteration_entries.size(), 16384u);
  EXPECT_GT(swept.detail().iteration_entries.size(), 1000u);
}

TEST(Detail, KnowsTheSlowestInstancesOfAnOperation) {
  std::string events;
  for (uint64_t ticks : {3, 9, 4, 9, 1, 2}) events += begin_record(1, 3) + end_record(ticks);
  Detailed swept(events, 50);
  ASSERT_EQ(swept.detail().instances.size(), 1u);
  const SweptInstances& instances = swept.detail().instances[0];
  EXPECT_EQ(instances.ended, 6u);
  EXPECT_EQ(instances.ticks, 28u);
  EXPECT_EQ(instances.slowest[0].ticks, 9u);
  EXPECT_EQ(instances.slowest[0].start_ticks, 5u);
  EXPECT_EQ(instances.slowest[1].start_ticks, 20u);
  EXPECT_EQ(instances.slowest.at(4).ticks, 2u);
}

TEST(EventWindow, ClipsEventsAndSaysHowTheyNest) {
  // simulation from 10 to 40, in it add from 12 to 20 and mul from 25 to 30.
  std::string first = begin_record(10, 3) + begin_record(2, 1);
  std::string second = end_record(5) + begin_record(5, 2) + end_record(5) + end_record(10);
  TemporaryFile file(file_header(0, 50) + names() + chunk({}, first) +
                     chunk({ChunkKind::kEvents, 0, 1, 15, true, {3, 1}}, second));
  TraceFile trace(file.path(), false);
  EventWindow window = event_window(trace, 18, 28, 100);
  ASSERT_EQ(window.threads.size(), 1u);
  const ThreadEvents& events = window.threads[0];
  EXPECT_EQ(events.starts, (std::vector<uint64_t>{18, 18, 25}));
  EXPECT_EQ(events.ends, (std::vector<uint64_t>{28, 20, 28}));
  EXPECT_EQ(events.names, (std::vector<uint32_t>{3, 1, 2}));
  EXPECT_EQ(events.depths, (std::vector<uint32_t>{0, 1, 1}));
}

TEST(EventWindow, EndsWhereThereAreTooManyEvents) {
  std::string events;
  for (int i = 0; i < 100; i++) events += begin_record(1, 1) + end_record(1);
  TemporaryFile file(file_header(0, 300) + names() + chunk({}, events));
  TraceFile trace(file.path(), false);
  EventWindow window = event_window(trace, 0, 300, 10);
  EXPECT_EQ(window.end_ticks, 20u);
  ASSERT_EQ(window.threads.size(), 1u);
  EXPECT_EQ(window.threads[0].starts.size(), 10u);
}

}  // namespace
}  // namespace rlscope
