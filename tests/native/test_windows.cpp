// A recording that pauses and goes on: what is open stays open, nothing is left behind, and requests are seen.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "recording.h"
#include "requests.h"
#include "session.h"
#include "sweep.h"
#include "trace_file.h"

namespace rlscope {
namespace {

class Windows : public Recording {
 protected:
  SweepResult pause_and_read() {
    Session::pause(EndReason::kStopped);
    TraceFile file(path_, false);
    return sweep(file, {});
  }
  void go_on() {
    ASSERT_EQ(Session::start(directory_), 0);
    path_ = Session::path();
  }
};

CodedId operation(const char* name) { return Session::intern(NameKind::kOperation, Category::kPython, name); }
CodedId boundary(const char* name, Category category = Category::kBackend) {
  return Session::intern(NameKind::kBoundary, category, name);
}

void cross(const CodedId& id, int times) {
  for (int i = 0; i < times; i++) {
    StreamWriter* writer = Session::recording_writer();
    if (!writer || !writer->begin(id)) continue;
    writer->end();
  }
}

uint64_t ticks_of(const SweepResult& result, std::string_view operation) {
  uint64_t ticks = 0;
  for (const BreakdownRow& row : result.breakdown) ticks += row.operation == operation ? row.ticks : 0;
  return ticks;
}

// Mappings of this process, of its trace files and of memory.
size_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count++;
  return count;
}

size_t count_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
  return count;
}

TEST_F(Windows, BeginInsideWhatIsOpen) {
  CodedId outer = operation("outer"), inner = operation("inner"), call = boundary("call");
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  cross(call, 3);
  EXPECT_EQ(pause_and_read().crossings["call"], 3u);
  cross(call, 100);  // nothing records them
  writer->begin(inner);
  go_on();
  cross(call, 4);
  writer->end();
  cross(call, 2);
  SweepResult result = pause_and_read();
  EXPECT_EQ(result.crossings["call"], 6u);
  EXPECT_GT(ticks_of(result, "outer"), 0u);
  EXPECT_GT(ticks_of(result, "inner"), 0u);
  EXPECT_EQ(Session::writer()->depth(), 1u);
  EXPECT_EQ(TraceFile(path_, false).header().misnested_operations, 0u);
}

TEST_F(Windows, ACallThatBeganInOneWindowMayEndInAnother) {
  CodedId call = boundary("call"), inner = operation("inner");
  StreamWriter* writer = Session::writer();
  uint32_t depth = writer->depth();
  writer->begin(call);
  Session::pause(EndReason::kStopped);
  writer->begin(inner);
  writer->end();
  go_on();
  EXPECT_EQ(t_writer, writer);
  writer->end_to(depth);
  cross(call, 1);
  SweepResult result = pause_and_read();
  EXPECT_EQ(result.crossings["call"], 1u) << "the call that goes on is none of this window's, its end is";
  EXPECT_EQ(writer->depth(), 0u);
}

TEST_F(Windows, ACallThatBeganBetweenWindowsLeavesNoFrame) {
  CodedId call = boundary("call");
  Session::pause(EndReason::kStopped);
  EXPECT_EQ(Session::recording_writer(), nullptr);
  go_on();
  cross(call, 1);
  EXPECT_EQ(pause_and_read().crossings["call"], 1u);
}

TEST_F(Windows, CudaCallsEndWithTheWindow) {
  CodedId outer = operation("outer"), call = boundary("cudaLaunchKernel", Category::kCuda);
  StreamWriter* writer = Session::writer();
  writer->begin(outer);
  writer->begin(call);
  Session::pause(EndReason::kStopped);
  EXPECT_EQ(writer->depth(), 1u) << "nobody tells of its end";
}

TEST_F(Windows, OfOtherThreadsAreJoinedAtTheirNextRecord) {
  CodedId outer = operation("outer"), call = boundary("call");
  std::atomic<int> step{0};
  std::thread thread([&] {
    Session::writer()->begin(outer);
    for (int window = 1; window <= 3; window++) {
      while (step != 2 * window - 1) std::this_thread::yield();
      cross(call, window);
      step = 2 * window;
    }
    while (step != 7) std::this_thread::yield();
    Session::writer()->end();
  });
  for (int window = 1; window <= 3; window++) {
    step = 2 * window - 1;
    while (step != 2 * window) std::this_thread::yield();
    SweepResult result = pause_and_read();
    EXPECT_EQ(result.crossings["call"], static_cast<uint64_t>(window));
    EXPECT_GT(ticks_of(result, "outer"), 0u);
    go_on();
  }
  step = 7;
  thread.join();
}

TEST_F(Windows, LeaveNothingBehind) {
  CodedId outer = operation("outer"), call = boundary("call");
  Session::writer()->begin(outer);
  auto record_windows = [&](int count) {
    for (int i = 0; i < count; i++) {
      cross(call, 1000);
      Session::pause(EndReason::kStopped);
      std::filesystem::remove(path_);
      go_on();
    }
  };
  record_windows(3);
  size_t mappings = count_mappings(), descriptors = count_descriptors();
  record_windows(300);
  EXPECT_LE(count_mappings(), mappings + 30) << "the allocator may take some of its own, but not one a window";
  EXPECT_EQ(count_descriptors(), descriptors);
}

TEST_F(Windows, OneThatCannotBeBegunLeavesTheNextAlone) {
  CodedId call = boundary("call");
  Session::pause(EndReason::kStopped);
  EXPECT_EQ(Session::start(directory_ + "/missing"), ENOENT);
  EXPECT_EQ(Session::recording_writer(), nullptr);
  go_on();
  cross(call, 5);
  EXPECT_EQ(pause_and_read().crossings["call"], 5u);
}

TEST_F(Windows, AForkedChildFollowsWhatIsOpenBetweenThem) {
  CodedId outer = operation("outer"), call = boundary("call");
  Session::writer()->begin(outer);
  Session::pause(EndReason::kStopped);
  pid_t pid = fork();
  if (pid == 0) {
    Session::arm();
    bool is_open = Session::writer()->depth() == 1;
    bool is_started = Session::start(directory_) == 0;
    std::string path = Session::path();
    cross(call, 7);
    Session::stop(EndReason::kExit);
    TraceFile file(path, false);
    SweepResult result = sweep(file, {});
    _exit(is_open && is_started && result.crossings["call"] == 7 && ticks_of(result, "outer") > 0 ? 0 : 1);
  }
  int status;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

std::atomic<int> noticed{0};

class RequestsFile : public Windows {
 protected:
  void SetUp() override {
    Windows::SetUp();
    file_ = directory_ + "/requests";
    ask(0);
    Requests::follow(0);
    noticed = 0;
  }
  void TearDown() override {
    Requests::follow(Requests::number());
    Windows::TearDown();
  }
  // In place, as others do it: the file is mapped.
  void ask(uint32_t number) {
    FILE* file = std::fopen(file_.c_str(), std::filesystem::exists(file_) ? "r+b" : "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(&number, sizeof number, 1, file);
    std::fclose(file);
  }
  static void note() { noticed++; }

  std::string file_;
};

TEST_F(RequestsFile, AreSeenByCallsBetweenWindows) {
  ASSERT_EQ(Requests::map(file_, note), 0);
  Session::pause(EndReason::kStopped);
  EXPECT_EQ(Session::recording_writer(), nullptr);
  EXPECT_EQ(noticed, 0);
  ask(1);
  EXPECT_EQ(Session::recording_writer(), nullptr);
  EXPECT_EQ(noticed, 1);
  Requests::follow(1);
  EXPECT_EQ(Session::recording_writer(), nullptr);
  EXPECT_EQ(noticed, 1);
}

TEST_F(RequestsFile, AreSeenByRecordsWhetherOrNotTheyAreKept) {
  ASSERT_EQ(Requests::map(file_, note), 0);
  for (bool measures : {true, false}) {
    Session::pause(EndReason::kStopped);
    Session::measure_waits(measures);
    go_on();
    CodedId outer = operation("outer");
    for (bool records : {true, false}) {
      if (!records) Session::pause(EndReason::kStopped);
      Session::writer()->begin(outer);
      Session::writer()->end();
      ask(Requests::number() + 1);
      int before = noticed;
      while (noticed == before) {  // for ever, where it is not seen
        Session::writer()->begin(outer);
        Session::writer()->end();
      }
      Requests::follow(Requests::number());
    }
  }
  Session::measure_waits(true);
}

TEST_F(RequestsFile, MustBeAFileThatHoldsANumber) {
  EXPECT_EQ(Requests::map(directory_ + "/missing", note), ENOENT);
  std::filesystem::create_symlink(file_, directory_ + "/link");
  EXPECT_EQ(Requests::map(directory_ + "/link", note), ELOOP);
  std::filesystem::resize_file(file_, 3);
  EXPECT_EQ(Requests::map(file_, note), EINVAL);
  EXPECT_EQ(Requests::map(directory_, note), EINVAL);
}

}  // namespace
}  // namespace rlscope
