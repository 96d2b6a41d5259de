// Parts of the sweep by themselves: names, phases, waits, what records report, and how many rows a file may need.
#include <gtest/gtest.h>

#include <fstream>

#include "name_catalog.h"
#include "phases.h"
#include "reports.h"
#include "row_limit.h"
#include "trace_bytes.h"
#include "waits.h"

namespace rlscope {
namespace {

const std::string kStep = name_entry(1, NameKind::kOperation, Category::kPython, "step");
const std::string kPhases = name_entry(2, NameKind::kPhase, Category::kPython, "collect") +
                            name_entry(3, NameKind::kPhase, Category::kPython, "evaluation");
const std::string kWaits = name_entry(4, NameKind::kBoundary, Category::kWait, "recv pipe:[1]");

// A file with these names, and tables that know them.
struct Named {
  explicit Named(const std::string& entries)
      : file(file_header(0, 1000) + catalog(entries)), trace(file.path(), false), tables(false, true) {
    tables.learn_names(trace.names());
  }

  TemporaryFile file;
  TraceFile trace;
  SweepTables tables;
};

TEST(RowLimit, IsThatOfAFileOfItsSize) {
  Named named(kStep);
  RowLimit limit(named.trace);
  size_t most = (1 << 13) + named.trace.bytes() / 8;
  EXPECT_NO_THROW(limit.check(most, "it has", "rows", "record it again"));
  try {
    limit.check(most + 1, "it has", "rows", "record it again");
    FAIL();
  } catch (const TraceDamage& damage) {
    EXPECT_NE(std::string(damage.what()).find("it has more than " + std::to_string(most) + " rows"), std::string::npos);
  }
}

TEST(NameCatalog, LearnsNamesThatAreAddedLater) {
  ChunkOptions open{ChunkKind::kCatalog, kNoStream, 0, 0, false, {}};
  std::string header = file_header(0, 0);
  TemporaryFile file(header + chunk(open, kStep));
  TraceFile trace(file.path(), false);
  SweepTables tables(false, false);
  CostTable costs = {{"operation", {{1, 2, 3}, {0, 0, 0}}}};
  Correction correction(costs);
  NameCatalog names(trace, tables, &correction);
  EXPECT_TRUE(names.knows(1));
  EXPECT_TRUE(correction.is_calibrated(1));
  EXPECT_FALSE(tables.knows_name(2));
  std::string added = name_entry(2, NameKind::kOperation, Category::kPython, "later");
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary) << header << chunk(open, kStep + added);
  EXPECT_TRUE(names.knows(2));
  EXPECT_TRUE(correction.is_calibrated(2));
  EXPECT_EQ(tables.operation_of(names.scope_of({1, 0, 2, Stage::kInference, {}})), "later");
  EXPECT_EQ(names.scope_of({2, 0, 0, Stage::kNone, {}}), 0u);
  EXPECT_FALSE(names.knows(77));
}

TEST(Phases, TheOneThatBeganLastCounts) {
  Named named(kPhases);
  Phases phases(named.tables);
  EXPECT_EQ(phases.number(), 0u);
  uint32_t collect = named.tables.name(2).number, evaluation = named.tables.name(3).number;
  uint64_t outer = phases.begin({collect, 0, true}, 10);
  EXPECT_EQ(phases.number(), collect);
  uint64_t inner = phases.begin({evaluation, 1, true}, 20);
  EXPECT_EQ(phases.number(), evaluation);
  EXPECT_EQ(phases.evaluated(25), 5u);
  phases.end(outer, 30);
  EXPECT_EQ(phases.number(), evaluation);
  phases.end(inner, 40);
  EXPECT_EQ(phases.number(), 0u);
  EXPECT_EQ(phases.evaluated(100), 20u);
  phases.begin({evaluation, 1, true}, 110);
  phases.start_at(115);
  EXPECT_EQ(phases.evaluated(117), 2u);
  SweepResult result;
  result.end_ticks = 130;
  named.tables.write(named.trace.names(), result);
  ASSERT_EQ(result.phases.size(), 1u);  // of those before the start none is left
  EXPECT_EQ(result.phases[0].phase, "evaluation");
  EXPECT_EQ(result.phases[0].start_ticks, 115u);
  EXPECT_EQ(result.phases[0].end_ticks, 130u);
}

TEST(Phases, HaveNoKnownOrderWhereOneOfSeveralStreamsWasNotSeenToBegin) {
  Named named(kPhases);
  Phases phases(named.tables);
  uint32_t collect = named.tables.name(2).number;
  phases.begin({collect, 0, false}, 0);
  phases.begin({collect, 0, true}, 5);
  EXPECT_TRUE(phases.streams_of_unknown_order().empty());
  uint64_t other = phases.begin({collect, 3, true}, 7);
  EXPECT_EQ(phases.streams_of_unknown_order(), std::set<uint32_t>{0});
  phases.end(other, 9);
  EXPECT_TRUE(phases.streams_of_unknown_order().empty());
}

TEST(Waits, HaveTheTimeUntilTheProcessDoesSomethingElse) {
  Named named(kStep + kPhases + kWaits);
  RowLimit limit(named.trace);
  Waits waits(named.tables, limit);
  uint32_t number = named.tables.name(4).number;
  uint32_t collect = named.tables.name(2).number;
  IdleDoing waiting{0, 0, number, kWait, false};
  waits.change(100, 0, waiting, true);
  EXPECT_TRUE(waits.is_any());
  EXPECT_TRUE(waits.adds_idle());
  waits.change(107, collect, waiting, true);
  EXPECT_EQ(waits.sum(0, number).ticks, 7u);
  waits.leave_out(3);  // another thread ran
  waiting.scope = named.tables.inner_scope(0, named.tables.name(1));
  waits.change(120, collect, waiting, true);
  EXPECT_EQ(waits.sum(collect, number).ticks, 10u);
  EXPECT_EQ(waits.sum(collect, number).in_operations_ticks, 0u);
  waits.change(124, 0, {}, false);
  EXPECT_EQ(waits.sum(collect, number).in_operations_ticks, 4u);
  EXPECT_FALSE(waits.is_any());
  EXPECT_FALSE(waits.adds_idle());
  waits.change(150, 0, {}, false);
  SweepResult result;
  named.tables.write_idle(named.trace.names(), 1, result);
  ASSERT_EQ(result.idle.size(), 2u);
  EXPECT_EQ(result.idle[0].idle.operation, "(none)");
  EXPECT_EQ(result.idle[0].idle.time, 17u);
  EXPECT_EQ(result.idle[1].idle.operation, "step");
  EXPECT_EQ(result.idle[1].idle.time, 4u);
  EXPECT_EQ(result.idle[1].idle.wait, "recv pipe:[1]");
}

TEST(Reports, SumUpProgress) {
  Named named(kStep);
  Reports reports(false);
  reports.add(Progress{true, 5, 0}, 10, 100);
  reports.add(Progress{false, 20, 64}, 30, 104);
  reports.add(Progress{false, 40, 0}, 60, 109);
  SweepResult result;
  reports.write(named.trace.names(), named.tables, false, result);
  ASSERT_EQ(result.trainings.size(), 1u);
  EXPECT_EQ(result.trainings[0].iterations, 2u);
  EXPECT_EQ(result.trainings[0].first_ticks, 10u);
  EXPECT_EQ(result.trainings[0].first_timesteps, 5u);
  EXPECT_EQ(result.trainings[0].last_ticks, 60u);
  EXPECT_EQ(result.trainings[0].last_timesteps, 40u);
  EXPECT_EQ(result.trainings[0].total_timesteps, 64u);
  EXPECT_EQ(result.trainings[0].baseline_timesteps, 5u);
  EXPECT_EQ(result.trainings[0].evaluation_ticks, 9u);
}

TEST(Reports, ABaselineOrFewerTimestepsBeginATraining) {
  Named named(kStep);
  Reports reports(false);
  reports.add(Progress{true, 0, 64}, 10, 0);
  reports.add(Progress{false, 64, 64}, 20, 0);
  reports.add(Progress{true, 64, 128}, 30, 5);
  reports.add(Progress{false, 128, 128}, 40, 6);
  reports.add(Progress{false, 1, 0}, 50, 6);
  SweepResult result;
  reports.write(named.trace.names(), named.tables, false, result);
  ASSERT_EQ(result.trainings.size(), 3u);
  EXPECT_EQ(result.trainings[1].first_ticks, 30u);
  EXPECT_EQ(result.trainings[1].iterations, 1u);
  EXPECT_EQ(result.trainings[1].evaluation_ticks, 1u);
  EXPECT_EQ(result.trainings[2].first_timesteps, 1u);
  EXPECT_FALSE(result.trainings[2].baseline_timesteps);
}

TEST(Reports, TakeTheBeginOfAThreadsSampleFromTheOneBefore) {
  Named named(kStep);
  Reports reports(true);
  Thread thread(0, true);
  thread.scope = 1;
  thread.sample_since = 10;
  SampleEnd sample{1, false, false, 0, 3, 0, 0};
  reports.add(sample, thread, 30, 0);
  reports.add(sample, thread, 35, 0);
  thread.scope = 0;
  reports.add(sample, thread, 36, 0);
  reports.add(sample, thread, 50, 0);  // outside any operation nobody knows when it began
  SweepResult result;
  reports.write(named.trace.names(), named.tables, false, result);
  ASSERT_EQ(result.samples.size(), 1u);
  EXPECT_EQ(result.samples[0].complete, 4u);
  EXPECT_EQ(result.samples[0].timed, 3u);
  EXPECT_EQ(result.samples[0].elapsed_ticks, 26u);
  EXPECT_EQ(result.samples[0].tokens, 12u);
  EXPECT_EQ(reports.samples().spans(named.trace.names()).size(), 4u);
}

TEST(Reports, LeaveOutOfAWindowWhatDependsOnEarlierRecords) {
  Named named(kStep + kWaits);
  Reports reports(false);
  Thread thread(0, true);
  reports.add(Progress{false, 20, 64}, 30, 0);
  reports.add(TaskEnd{1, 8, 5});
  reports.forget();
  reports.add(TaskEnd{1, 7, 3});
  reports.add(CollectiveEnd{4, false, 1, 16, 5, 2}, 50);
  reports.add(SampleEnd{1, false, true, 0, 3, 9, 9}, thread, 60, 0);
  reports.add(MemorySample{MemoryOwner::kHost, 0, 100, 200}, 0, 10, 70);
  SweepResult window, whole;
  reports.write(named.trace.names(), named.tables, true, window);
  EXPECT_TRUE(window.trainings.empty());
  ASSERT_EQ(window.tasks.size(), 1u);
  EXPECT_EQ(window.tasks[0].ended, 1u);
  EXPECT_EQ(window.tasks[0].running_ticks, 3u);
  ASSERT_EQ(window.memory.size(), 1u);
  EXPECT_EQ(window.memory[0].highest_bytes, 100u);
  EXPECT_TRUE(window.samples.empty());
  EXPECT_TRUE(window.collectives.name_ids.empty());
  reports.write(named.trace.names(), named.tables, false, whole);
  EXPECT_EQ(whole.samples.size(), 1u);
  EXPECT_EQ(whole.collectives.ends, std::vector<uint64_t>{50});
}

}  // namespace
}  // namespace rlscope
