// The recorder without Python: what it writes is read back, from several threads, across chunks, forks and a full disk.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "event_records.h"
#include "recording.h"
#include "session.h"
#include "sweep.h"
#include "trace_reader.h"

namespace rlscope {
namespace {

class Recorder : public Recording {
 protected:
  SweepResult stop_and_read() {
    Session::stop(EndReason::kStopped);
    TraceFile file(path_, false);
    return sweep(file, {});
  }
};

void cross(const CodedId& id, int times) {
  for (int i = 0; i < times; i++) {
    StreamWriter* writer = Session::writer();
    writer->begin(id);
    writer->end();
  }
}

TEST_F(Recorder, WritesAcrossChunksWithFramesOpen) {
  CodedId outer = operation("outer"), inner = operation("inner"), call = boundary("call");
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  for (int i = 0; i < 1000; i++) {
    writer->begin(inner);
    cross(call, 500);
    writer->end();
  }
  writer->end();
  SweepResult result = stop_and_read();
  EXPECT_EQ(result.crossings["call"], 500'000u);
  EXPECT_EQ(result.events["operation"], 1001u);
  uint64_t total = 0;
  for (const SweptTime& row : result.breakdown) total += row.ticks;
  EXPECT_EQ(total, result.end_ticks - result.start_ticks);
}

TEST_F(Recorder, AmplifiedRecordsAreNoOthers) {
  CodedId outer = operation("outer"), call = boundary("call");
  Session::amplify(16);
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  cross(call, 50'000);
  Session::amplify(1);
  cross(call, 50'000);
  writer->end();
  SweepResult result = stop_and_read();
  EXPECT_EQ(result.crossings["call"], 100'000u);
  EXPECT_EQ(result.events["operation"], 1u);
}

TEST_F(Recorder, ThreadsShareNothing) {
  CodedId call = boundary("call");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) threads.emplace_back([&] { cross(call, 50'000); });
  for (std::thread& thread : threads) thread.join();
  SweepResult result = stop_and_read();
  EXPECT_EQ(result.crossings["call"], 400'000u);
  EXPECT_EQ(result.streams.size(), 9u);
}

TEST_F(Recorder, ThreadsThatEndLeaveTheirRestToOthers) {
  CodedId call = boundary("call");
  constexpr uint64_t kThreads = 2000;
  for (uint64_t i = 0; i < kThreads; i++) std::thread([&] { cross(call, 5); }).join();
  SweepResult result = stop_and_read();
  EXPECT_EQ(result.crossings["call"], 5 * kThreads);
  EXPECT_EQ(result.streams.size(), kThreads + 1);
  EXPECT_LE(std::filesystem::file_size(path_), 200 * kThreads + (1 << 16));
}

TEST_F(Recorder, DeepNestingSurvivesChunkChanges) {
  CodedId call = boundary("call");
  StreamWriter* writer = Session::writer();
  for (int i = 0; i < 30'000; i++) ASSERT_TRUE(writer->begin(call));
  cross(call, 100'000);
  for (int i = 0; i < 30'000; i++) writer->end();
  EXPECT_EQ(stop_and_read().crossings["call"], 130'000u);
}

TEST_F(Recorder, WhatNestsTooDeepIsCountedAlsoWhereAChunkIsFull) {
  CodedId call = boundary("call");
  StreamWriter* writer = Session::writer();
  for (uint32_t i = 0; i < StreamWriter::kMaxDepth; i++) ASSERT_TRUE(writer->begin(call));
  constexpr uint32_t kRefused = 200'000;
  for (uint32_t i = 0; i < kRefused; i++) {
    writer->end();
    ASSERT_TRUE(writer->begin(call));
    ASSERT_FALSE(writer->begin(call));
  }
  ASSERT_EQ(writer->depth(), StreamWriter::kMaxDepth);
  writer->end_to(0);
  stop_and_read();
  EXPECT_EQ(TraceFile(path_, false).header().dropped_records, kRefused);
}

TEST_F(Recorder, MisnestedFramesAreClosedAndCounted) {
  CodedId outer = operation("outer"), inner = operation("inner");
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  writer->begin(inner);
  writer->begin(inner);
  writer->end_to(0);
  EXPECT_EQ(writer->depth(), 0u);
  SweepResult result = stop_and_read();
  EXPECT_EQ(TraceFile(path_, false).header().misnested_operations, 2u);
}

TEST_F(Recorder, FramesEndWithTheirThread) {
  CodedId outer = operation("outer"), guess = operation("guess");
  constexpr uint32_t kDeep = 30'000;  // more than what is left of a first chunk has room for
  std::thread([&] {
    StreamWriter* writer = Session::writer();
    for (uint32_t i = 0; i < kDeep; i++) writer->begin(outer);
    writer->begin(guess);
    writer->frame(kDeep).is_guess = true;
  }).join();
  Session::stop(EndReason::kStopped);
  uint32_t open = 0, most = 0;
  for (const EventRecord& record : read_event_records(path_)) {
    if (record.stream != 1 || record.kind == kOther) continue;  // as where it had no core
    open += record.kind == kBegin ? 1 : -1;
    most = std::max(most, open);
  }
  EXPECT_EQ(most, kDeep + 1);
  EXPECT_EQ(open, 0u);
  EXPECT_EQ(TraceFile(path_, false).header().misnested_operations, kDeep);
}

TEST_F(Recorder, AThreadThatOutlivesTheRecordingEndsNothing) {
  CodedId outer = operation("outer");
  std::atomic<int> step{0};
  std::thread thread([&] {
    Session::writer()->begin(outer);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  Session::stop(EndReason::kStopped);
  step = 2;
  thread.join();
  EXPECT_EQ(TraceFile(path_, false).header().misnested_operations, 0u);
  for (const EventRecord& record : read_event_records(path_)) EXPECT_NE(record.kind, kEnd);
}

TEST_F(Recorder, ProgressIsKept) {
  StreamWriter* writer = Session::writer();
  writer->report(ProgressNumbers{1, 0, 1'000'000'000});
  for (uint64_t i = 1; i <= 5000; i++) writer->report(ProgressNumbers{0, i * 1'000'000'000'000, 1ull << 50});
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.trainings.size(), 1u);
  EXPECT_EQ(result.trainings[0].iterations, 5000u);
  EXPECT_EQ(result.trainings[0].last_timesteps, 5'000'000'000'000'000u);
  EXPECT_EQ(result.trainings[0].total_timesteps, 1ull << 50);
}

TEST_F(Recorder, TasksAreKept) {
  CodedId outer = operation("outer");
  StreamWriter* writer = Session::writer();
  for (uint64_t i = 1; i <= 5000; i++) writer->report_with_last(TaskNumbers{outer.id, i << 30, i});
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.tasks.size(), 1u);
  const SweptTask& row = result.tasks[0];
  EXPECT_EQ(row.ended, 5000u);
  EXPECT_EQ(row.running_ticks, 5000u * 5001 / 2);
  EXPECT_EQ(row.longest_ticks, 5000ull << 30);
  EXPECT_LE(row.median_ticks, 2500ull << 30);
  EXPECT_GT(row.median_ticks, 2480ull << 30);
  EXPECT_LE(row.p99_ticks, 4950ull << 30);
  EXPECT_GT(row.p99_ticks, 4910ull << 30);
}

TEST_F(Recorder, SamplesAreKept) {
  CodedId outer = operation("outer");
  StreamWriter* writer = Session::writer();
  for (uint64_t i = 1; i <= 5000; i++) writer->report(SampleNumbers{outer.id, kSampleOfTask, i, 1ull << 40, i << 30, i << 29});
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.samples.size(), 1u);
  const SweptSample& row = result.samples[0];
  EXPECT_EQ(row.complete, 5000u);
  EXPECT_EQ(row.tokens, 5000ull << 40);
  EXPECT_EQ(row.newest_version, 5000u);
  EXPECT_EQ(row.staleness, 0u);
  EXPECT_EQ(row.elapsed_ticks, (5000ull * 5001 / 2) << 30);
  EXPECT_EQ(row.queue_ticks, (5000ull * 5001 / 2) << 29);
  ASSERT_EQ(result.sample_tails.size(), 1u);
  EXPECT_EQ(result.sample_tails[0].samples, 5000u);
}

TEST_F(Recorder, MessagesAreKept) {
  CodedId wait = Session::intern(NameKind::kBoundary, Category::kWait, "posix.write pipe:[3]");
  StreamWriter* writer = Session::writer();
  for (uint64_t i = 1; i <= 5000; i++) writer->report_with_last(MessageNumbers{wait.id, i << 30});
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].messages, 5000u);
  EXPECT_EQ(result.messages[0].message_bytes, (5000ull * 5001 / 2) << 30);
}

TEST_F(Recorder, CollectivesAreKept) {
  CodedId wait = Session::intern(NameKind::kBoundary, Category::kWait, "all_reduce group:0");
  StreamWriter* writer = Session::writer();
  uint64_t called_at = now_ticks();
  for (uint64_t i = 0; i < 5000; i++) writer->collective({wait.id, 0, i, 1ull << 40, called_at, called_at + 1});
  writer->collective({wait.id, kCollectiveUnwaited, 5000, 0, called_at, 0});
  writer->collective({wait.id, 0, 5001, 0, ~0ull, 0});  // in the future, says the caller
  SweptCollectives found = stop_and_read().collectives;
  ASSERT_EQ(found.name_ids.size(), 5002u);
  EXPECT_EQ(found.sequences[4999], 4999u);
  EXPECT_EQ(found.sizes[4999], 1ull << 40);
  EXPECT_EQ(found.calls[4999], called_at);
  EXPECT_EQ(found.waits[4999], called_at + 1);
  EXPECT_GE(found.ends[4999], called_at);
  EXPECT_EQ(found.calls[5000], called_at);
  EXPECT_EQ(found.ends[5000], 0u);
  EXPECT_EQ(found.calls[5001], found.ends[5001]);
  EXPECT_EQ(found.waits[5001], found.ends[5001]);
}

TEST_F(Recorder, MemoryIsKeptAndOfMuchEverySecondSample) {
  StreamWriter* writer = Session::writer();
  for (uint64_t i = 0; i < 5000; i++) writer->report(MemoryNumbers{static_cast<uint64_t>(MemoryOwner::kPytorch), 3, i, 1ull << 40});
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.memory.size(), 1u);
  EXPECT_EQ(result.memory[0].device, 3u);
  EXPECT_EQ(result.memory[0].samples, 5000u);
  EXPECT_EQ(result.memory[0].highest_bytes, 4999u);
  ASSERT_EQ(result.memory_series.size(), 1u);
  const SweptMemorySeries& series = result.memory_series[0];
  EXPECT_EQ(series.owner, MemoryOwner::kPytorch);
  EXPECT_EQ(series.peak_bytes, 1ull << 40);
  ASSERT_EQ(series.used_bytes.size(), 2500u);
  for (uint64_t i = 0; i < 2500; i++) EXPECT_EQ(series.used_bytes[i], 2 * i);
  EXPECT_EQ(series.ticks.size(), 2500u);
  EXPECT_EQ(series.reports.size(), 2500u);
}

// On a CPU throughout.
void run_for(uint64_t cpu_ns) {
  for (uint64_t start = monotonic_ns(CLOCK_THREAD_CPUTIME_ID); monotonic_ns(CLOCK_THREAD_CPUTIME_ID) < start + cpu_ns;) {
  }
}

TEST_F(Recorder, CpuTimeIsOfTheOperationInWhichAThreadRan) {
  CodedId busy = operation("busy"), waiting = operation("waiting");
  StreamWriter* writer = Session::writer();
  writer->begin(busy);
  run_for(20'000'000);
  writer->end();
  writer->begin(waiting);
  usleep(20'000);
  writer->end();
  run_for(20'000'000);
  SweepResult result = stop_and_read();
  ASSERT_EQ(result.cpu_times.size(), 3u);
  std::map<std::string_view, SweptCpuTime> rows;
  for (const SweptCpuTime& row : result.cpu_times) rows.insert({row.operation, row});
  EXPECT_EQ(rows["(none)"].begins, 0u);
  EXPECT_EQ(rows["busy"].begins, 1u);
  EXPECT_EQ(rows["waiting"].begins, 1u);
  EXPECT_GE(rows["busy"].cpu_ns, 19'000'000u);
  EXPECT_GE(rows["(none)"].cpu_ns, 19'000'000u);
  EXPECT_LE(rows["waiting"].cpu_ns, 10'000'000u);
  uint64_t ticks = 0;
  for (const SweptCpuTime& row : result.cpu_times) ticks += row.ticks;
  EXPECT_LE(ticks, result.end_ticks - result.start_ticks);
}

TEST_F(Recorder, StartsAgainAfterStopping) {
  CodedId call = boundary("call");
  cross(call, 3);
  EXPECT_EQ(Session::start(directory_), EALREADY);
  EXPECT_EQ(stop_and_read().crossings["call"], 3u);
  std::string before = path_;
  start();
  EXPECT_NE(path_, before);
  cross(call, 4);
  EXPECT_EQ(stop_and_read().crossings["call"], 4u);  // the name is known to the second file as well
}

TEST_F(Recorder, RecordsAfterStoppingAreIgnored) {
  CodedId call = boundary("call");
  StreamWriter* writer = Session::writer();
  writer->begin(call);
  Session::stop(EndReason::kStopped);
  writer->end();
  EXPECT_FALSE(writer->begin(call));
  EXPECT_EQ(Session::writer(), nullptr);
  TraceFile file(path_, false);
  EXPECT_EQ(sweep(file, {}).crossings["call"], 1u);
}

TEST_F(Recorder, AForkedChildGoesOnInAFileOfItsOwn) {
  CodedId outer = operation("outer"), call = boundary("call");
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  writer->begin(call);
  pid_t pid = fork();
  if (pid == 0) {
    bool is_detached = t_writer == nullptr && !Session::is_recording();
    bool is_started = Session::start(directory_) == 0 && Session::writer()->depth() == 1;  // outer, but not the call
    cross(call, 7);
    Session::stop(EndReason::kExit);
    _exit(is_detached && is_started ? 0 : 1);
  }
  int status;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  writer->end();
  writer->end();
  EXPECT_EQ(stop_and_read().crossings["call"], 1u);
  TraceFile child(directory_ + "/" + std::to_string(pid) + "-0.rlscope", false);
  SweepResult result = sweep(child, {});
  EXPECT_EQ(result.crossings["call"], 7u);
  EXPECT_EQ(result.events["operation"], 1u);
}

TEST_F(Recorder, AFullDiskStopsTheRecordingAndNotTheProgram) {
  CodedId call = boundary("call");
  signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  rlimit limited = unlimited;
  limited.rlim_cur = 200'000;
  setrlimit(RLIMIT_FSIZE, &limited);
  int recorded = 0;
  for (int i = 0; i < 300'000; i++) {
    StreamWriter* writer = Session::writer();
    if (!writer || !writer->begin(call)) continue;
    writer->end();
    recorded++;
  }
  setrlimit(RLIMIT_FSIZE, &unlimited);
  SweepResult result = stop_and_read();
  FileHeader header = TraceFile(path_, false).header();
  EXPECT_EQ(header.end_reason, EndReason::kFailed);
  EXPECT_EQ(header.stop_errno, static_cast<uint32_t>(EFBIG));
  EXPECT_GT(recorded, 1000);
  EXPECT_LT(recorded, 300'000);
  // The end of the last call that fitted may be what was lost first.
  EXPECT_NEAR(static_cast<double>(header.dropped_records), 300'000 - recorded, 1);
  EXPECT_EQ(result.crossings["call"], static_cast<uint64_t>(recorded));
}

TEST(RecorderStart, ADirectoryThatCannotBeWrittenIsAnErrorCode) {
  EXPECT_EQ(Session::start("/nonexistent/directory"), ENOENT);
  EXPECT_FALSE(Session::is_recording());
  EXPECT_EQ(Session::writer(), nullptr);
}

}  // namespace
}  // namespace rlscope
