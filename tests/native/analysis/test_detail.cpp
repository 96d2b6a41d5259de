// Detail of the sweep where Python tests do not reach: the slowest of many iterations and instances, very many events.
#include <gtest/gtest.h>

#include "event_window.h"
#include "sweep.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

std::string progress_record(uint64_t delta, uint64_t timesteps) {
  return tagged_record(delta, kProgress, {0, timesteps, 0});
}

std::string names() {
  return catalog(name_entry(1, NameKind::kBoundary, Category::kBackend, "add") +
                 name_entry(3, NameKind::kOperation, Category::kPython, "simulation"));
}

// The sweep of a thread's events in a process that lived from 0 to `end_ticks`.
class Detailed {
 public:
  Detailed(const std::string& events, uint64_t end_ticks)
      : file_(file_header(0, end_ticks) + names() + chunk({}, events)), trace_(file_.path(), false) {
    SweepOptions options;
    std::vector<uint64_t> no_borders;
    options.borders = &no_borders;
    result_ = sweep(trace_, options);
  }

  const DetailResult& detail() const { return *result_.detail; }

 private:
  TemporaryFile file_;
  TraceFile trace_;
  SweepResult result_;
};

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
