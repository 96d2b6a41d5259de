// The threads of a process as they begin and end, and what is known of those that run no Python.
#include <gtest/gtest.h>

#include <tuple>

#include "native_threads.h"
#include "threads.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

constexpr size_t kWindow = 1 << 20;
const std::string kNames = catalog(name_entry(1, NameKind::kBoundary, Category::kBackend, "add") +
                                   name_entry(2, NameKind::kBoundary, Category::kCuda, "cudaLaunchKernel") +
                                   name_entry(3, NameKind::kOperation, Category::kPython, "step"));

std::string stream_chunk(uint32_t stream, uint32_t sequence, uint64_t base_ticks, const std::string& payload) {
  return chunk({ChunkKind::kEvents, stream, sequence, base_ticks, true, {}}, payload);
}

// Reads on until the next begin.
bool reach_begin(Thread& thread) {
  while (thread.reader->next()) {
    if (thread.reader->is_begin()) return true;
  }
  return false;
}

TEST(SweptThreads, BeginInOrderOfTimeAndStandInOrderOfStreams) {
  TemporaryFile file(file_header(0, 100) + kNames + stream_chunk(7, 0, 5, begin_record(20, 1) + end_record(1)) +
                     stream_chunk(0, 0, 2, begin_record(10, 1) + end_record(1)) +
                     stream_chunk(3, 0, 8, begin_record(4, 1) + end_record(1)));
  TraceFile trace(file.path(), false);
  Threads threads(trace, kWindow, false);
  EXPECT_EQ(threads.in_order(), std::vector<Thread*>{&threads.main()});
  EXPECT_EQ(threads.next_record_ticks(), kNever);
  const std::tuple<uint64_t, uint32_t, size_t> expected[] = {{2, 0, 0}, {5, 7, 1}, {8, 3, 1}};
  for (const auto& [ticks, stream, slot] : expected) {
    EXPECT_EQ(threads.next_begin_ticks(), ticks);
    Thread& thread = threads.begin();
    EXPECT_EQ(thread.stream, stream);
    EXPECT_EQ(thread.slot, slot);
    ASSERT_TRUE(reach_begin(thread));
    threads.wait(thread);
  }
  EXPECT_EQ(threads.next_begin_ticks(), kNever);
  std::vector<uint32_t> streams;
  for (const Thread* thread : threads.in_order()) streams.push_back(thread->stream);
  EXPECT_EQ(streams, (std::vector<uint32_t>{0, 3, 7}));
  // Both have a record at the same tick: the lower stream's comes first, and the other's is next.
  EXPECT_EQ(threads.next_record_ticks(), 12u);
  auto [first, limit] = threads.next();
  EXPECT_EQ(first->stream, 0u);
  EXPECT_EQ(limit, 12u);
}

TEST(SweptThreads, EndWithTheirLastRecordUnlessAFrameIsOpen) {
  TemporaryFile file(file_header(0, 100) + kNames + stream_chunk(1, 0, 0, begin_record(20, 1) + end_record(5)) +
                     stream_chunk(2, 0, 0, begin_record(30, 1)));
  TraceFile trace(file.path(), false);
  Threads threads(trace, kWindow, false);
  Thread& ends = threads.begin();
  ends.events = 4;
  Thread& stays = threads.begin();
  stays.events = 9;
  stays.boundaries = 1;
  EXPECT_EQ(stays.slot, 2u);
  for (Thread* thread : {&ends, &stays}) {
    while (thread->reader->next()) {}
  }
  EXPECT_EQ(threads.end(stays), nullptr);
  std::unique_ptr<Thread> ended = threads.end(ends);
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->stream, 1u);
  EXPECT_EQ(threads.in_order(), (std::vector<Thread*>{&threads.main(), &stays}));
  EXPECT_EQ(stays.slot, 1u);
  EXPECT_EQ(threads.last_ticks(), 30u);
  threads.stop();
  std::vector<SweptStream> streams = threads.streams();
  ASSERT_EQ(streams.size(), 3u);
  EXPECT_EQ(streams[1].events, 4u);
  EXPECT_EQ(streams[2].events, 9u);
  threads.forget_events();
  for (const SweptStream& stream : threads.streams()) EXPECT_EQ(stream.events, 0u);
}

TEST(SweptThreads, AreFoundByTheSystemsId) {
  TemporaryFile file(file_header(0, 100) + kNames + stream_chunk(0, 0, 0, begin_record(20, 1)));
  TraceFile trace(file.path(), false);
  Threads threads(trace, kWindow, false);
  EXPECT_EQ(threads.find(0), &threads.main());  // the chunk says no other id
  EXPECT_EQ(threads.find(4711), nullptr);
}

TEST(NativeThreads, MayHelpAThreadUntilOneHasCalled) {
  NativeThreads native;
  Thread main(0, true);
  using Parts = std::pair<uint64_t, uint64_t>;  // waiting, queued
  auto parts = [&](uint8_t category, AbsentGap gap) {
    main.boundary = category;
    AbsentParts found = native.parts_of(main, gap);
    return Parts{found.waiting_ticks, found.queued_ticks};
  };
  const AbsentGap gap{100, 12, 8, 3, 3}, much_helped{100, 12, 8, 3, 10};
  EXPECT_EQ(parts(kPython, gap), Parts(8, 3));
  EXPECT_EQ(parts(kBackend, gap), Parts(5, 3));
  EXPECT_EQ(parts(kSimulator, gap), Parts(5, 3));
  EXPECT_EQ(parts(kBackend, much_helped), Parts(0, 1));
  EXPECT_EQ(parts(kCuda, gap), Parts(0, 3));
  EXPECT_EQ(parts(kWait, gap), Parts(9, 3));
  EXPECT_EQ(parts(kCudaWait, gap), Parts(0, 0));
  native.note_call();
  EXPECT_EQ(parts(kPython, gap), Parts(8, 3));
  EXPECT_EQ(parts(kBackend, gap), Parts(0, 0));
  EXPECT_EQ(parts(kSimulator, gap), Parts(0, 0));
}

TEST(NativeThreads, AreMetInChunksBeforeAWindow) {
  std::string bytes = file_header(0, 1000) + kNames;
  for (uint32_t sequence : {0, 1}) {
    bytes += stream_chunk(1, sequence, 500 * sequence, begin_record(40, 2) + end_record(1));
    bytes += stream_chunk(2, sequence, 500 * sequence, begin_record(10, 3) + end_record(1));
  }
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), false);
  trace.start_at(800);
  SweepTables tables(false, false);
  tables.learn_names(trace.names());
  NativeThreads native;
  for (const auto& [number, stream] : trace.streams()) {
    ASSERT_EQ(stream.first_chunk, 1u);
    native.meet(trace, stream, tables);
  }
  EXPECT_FALSE(native.shows_python(1));
  EXPECT_TRUE(native.shows_python(2));
  Thread main(0, true);
  main.boundary = kBackend;
  EXPECT_EQ(native.parts_of(main, {40, 10, 8, 0, 3}).waiting_ticks, 5u);  // stream 1 called at 40, behind the main thread
  EXPECT_EQ(native.parts_of(main, {41, 10, 8, 0, 3}).waiting_ticks, 0u);
}

}  // namespace
}  // namespace rlscope
