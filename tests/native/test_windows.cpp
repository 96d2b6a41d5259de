// A recording that pauses and goes on: what is open stays open, nothing is left behind, and requests are seen.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
};

void cross(const CodedId& id, int times) {
  for (int i = 0; i < times; i++) {
    StreamWriter* writer = Session::recording_writer();
    if (!writer || !writer->begin(id)) continue;
    writer->end();
  }
}

uint64_t ticks_of(const SweepResult& result, std::string_view operation) {
  uint64_t ticks = 0;
  for (const SweptTime& row : result.breakdown) ticks += row.operation == operation ? row.ticks : 0;
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
  start();
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
  start();
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
  start();
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
    start();
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
      start();
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
  start();
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

class RequestsPage : public Windows {
 protected:
  void SetUp() override {
    Windows::SetUp();
    fd_ = Requests::make_page();
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(map(), 0);
    Requests::follow(0);
    noticed = 0;
  }
  void TearDown() override {
    Requests::set_due(Requests::kNotDue);
    Requests::follow(Requests::number());
    close(fd_);
    Windows::TearDown();
  }
  static ino_t inode_of(int fd) {
    struct stat status{};
    fstat(fd, &status);
    return status.st_ino;
  }
  static std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }
  int map() const { return Requests::map(path_of(fd_), inode_of(fd_), note); }
  // As another process does it.
  void ask(uint32_t number) const { EXPECT_EQ(pwrite(fd_, &number, sizeof number, 0), ssize_t{sizeof number}); }
  static void note() { noticed++; }

  int fd_ = -1;
};

TEST_F(RequestsPage, AreSeenByCallsBetweenWindows) {
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

TEST_F(RequestsPage, AreSeenByRecordsWhetherOrNotTheyAreKept) {
  for (bool measures : {true, false}) {
    Session::pause(EndReason::kStopped);
    Session::measure_waits(measures);
    start();
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

TEST_F(RequestsPage, IsLookedAtAgainWhenItIsTime) {
  CodedId outer = operation("outer");
  Requests::set_due(monotonic_ns() + 1'000'000);
  while (noticed == 0) {  // for ever, where it is not seen
    Session::writer()->begin(outer);
    Session::writer()->end();
  }
  EXPECT_TRUE(Requests::are_due());
  EXPECT_FALSE(Requests::are_news());
}

TEST_F(RequestsPage, NobodyAsksForAWindowTwice) {
  EXPECT_TRUE(Requests::ask(0, 1));
  EXPECT_FALSE(Requests::ask(0, 1));
  EXPECT_TRUE(Requests::ask(1, 2));
  EXPECT_EQ(Requests::number(), 2u);
}

TEST_F(RequestsPage, SaysOnceThatADiskIsFull) {
  EXPECT_TRUE(Requests::note_failure(ENOSPC));
  EXPECT_EQ(rlscope_gate.shared.failed_errno, static_cast<uint32_t>(ENOSPC));
  for (bool fails : {true, false}) {
    Session::pause(EndReason::kStopped);
    start();
    if (fails) {
      EXPECT_FALSE(Requests::note_failure(ENOSPC)) << "so it was in the recording before";
    }
  }
  Session::pause(EndReason::kStopped);
  start();
  EXPECT_TRUE(Requests::note_failure(ENOSPC));
  Requests::forget_failures();
}

TEST_F(RequestsPage, CannotBeMadeShorter) {
  EXPECT_EQ(truncate(path_of(fd_).c_str(), 0), -1);
  EXPECT_EQ(ftruncate(fd_, 0), -1);
  ask(7);
  EXPECT_EQ(Requests::number(), 7u);
}

TEST_F(RequestsPage, MustBeTheOneThatWasMade) {
  EXPECT_EQ(Requests::map(directory_ + "/missing", inode_of(fd_), note), ENOENT);
  EXPECT_EQ(Requests::map(path_of(fd_), inode_of(fd_) + 1, note), ESTALE);
  int file = open((directory_ + "/file").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(ftruncate(file, SharedPage::kBytes), 0);
  EXPECT_EQ(Requests::map(path_of(file), inode_of(file), note), ESTALE) << "somebody may make it shorter";
  EXPECT_EQ(Requests::map("/dev/zero", inode_of(file), note), ESTALE);
  close(file);
}

}  // namespace
}  // namespace rlscope
