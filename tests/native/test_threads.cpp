// What threads do at the same time, for the thread sanitizer: record, name, report, read what is being written.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "recording.h"
#include "session.h"
#include "sweep.h"
#include "trace_bytes.h"
#include "trace_reader.h"

namespace rlscope {
namespace {

using Threads = Recording;

TEST_F(Threads, NameAndReportWhileOthersRecord) {
  constexpr int kThreads = 4;
  constexpr int kNames = 200;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; number++) {
    threads.emplace_back([number] {
      for (int i = 0; i < kNames; i++) {
        std::string name = "thread " + std::to_string(number) + " name " + std::to_string(i);
        CodedId id = Session::intern(NameKind::kBoundary, Category::kBackend, name);
        StreamWriter* writer = Session::writer();
        writer->begin(id);
        writer->report(ProgressNumbers{0, static_cast<uint64_t>(i), kNames});
        writer->end();
        if (i % 10 == 0) Session::write_properties("{\"last\": " + std::to_string(i) + "}");
        if (Session::kind_of(id.id) != NameKind::kBoundary) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Session::stop(EndReason::kStopped);
  TraceFile file(path_, false);
  SweepResult result = sweep(file, {});
  EXPECT_EQ(result.crossings.size(), static_cast<size_t>(kThreads * kNames));
  EXPECT_EQ(file.properties().size(), static_cast<size_t>(kThreads * kNames / 10));
}

// A reader never takes what is not yet written for damage. Chunks change, threads come and go, names are added.
TEST_F(Threads, AFileIsSoundWhileItIsBeingWritten) {
  std::atomic<int> busy{3};
  auto record = [&busy](int number) {
    CodedId call = Session::intern(NameKind::kBoundary, Category::kBackend, "call " + std::to_string(number));
    for (int i = 0; i < 100'000; i++) {
      StreamWriter* writer = Session::writer();
      writer->begin(call);
      writer->end();
    }
    busy--;
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; number++) threads.emplace_back(record, number);
  threads.emplace_back([&busy] {
    for (int i = 0; i < 60; i++) {
      std::thread([i] {
        CodedId id = Session::intern(NameKind::kOperation, Category::kPython, "short " + std::to_string(i));
        StreamWriter* writer = Session::writer();
        writer->begin(id);
        writer->end();
      }).join();
    }
    busy--;
  });
  do {
    TraceFile file(path_, false);
    EXPECT_NO_THROW(sweep(file, {}));
  } while (busy > 0);
  for (std::thread& thread : threads) thread.join();
  SweepResult result = sweep(*std::make_unique<TraceFile>(path_, false), {});
  EXPECT_EQ(result.crossings["call 0"] + result.crossings["call 1"], 200'000u);
  EXPECT_EQ(result.events["operation"], 60u);
}

TEST(ThreadsOfTheAnalysis, SweepTheirFilesAtTheSameTime) {
  std::string payload;
  for (int i = 0; i < 1000; i++) payload += begin_record(1, 1) + end_record(1);
  TemporaryFile file(file_header(0, 2000) + catalog(name_entry(1, NameKind::kBoundary, Category::kBackend, "f")) +
                     chunk({}, payload));
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      TraceFile trace(file.path(), false);
      same += sweep(trace, {}).crossings["f"] == 1000;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 4);
}

}  // namespace
}  // namespace rlscope
