// A trace file whose free space is given back: it reads as before, at every moment on the way and after every error.
#include "free_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "recording.h"
#include "sweep.h"
#include "trace_bytes.h"

namespace {

// Asked before each write at an offset in this program; an errno of its own makes the write fail.
std::function<int()> g_before_write;

}  // namespace

extern "C" ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  if (int error = g_before_write ? g_before_write() : 0) {
    errno = error;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

namespace rlscope {
namespace {

std::string free_units(uint32_t count, uint32_t unit) {
  std::string bytes = bytes_of(free_space(count * unit));
  bytes.resize(count * unit, 'x');  // what was there before
  return bytes;
}

constexpr uint64_t kCallTicks = 40'000;
constexpr uint64_t kTicksBetweenCalls = 3;

std::string calls(int count) {
  std::string payload;
  for (int i = 0; i < count; i++) payload += begin_record(kTicksBetweenCalls, 2) + end_record(kCallTicks);
  return payload;
}

constexpr int kCallsInAPage = 700;  // more than half of its bytes

// A file and where its chunks lie; what it is made of is in order of the file.
struct Layout {
  std::string bytes;
  uint32_t unit = kPage;  // of the lengths of calls and free space
  std::vector<Region> closed = {};
  std::vector<Region> free = {};
  std::map<uint32_t, std::pair<uint32_t, uint64_t>> streams = {};  // of the next chunk: sequence and base_ticks

  void add(const std::string& piece, std::vector<Region>& regions) {
    regions.push_back({bytes.size(), static_cast<uint32_t>(piece.size())});
    bytes += piece;
  }
  void add_chunk(const std::string& chunk) { add(chunk, closed); }
  void add_free(uint32_t units) { add(free_units(units, unit), free); }
  void add_calls(uint32_t stream, int count) { add_chunk(next_calls(stream, count)); }

  std::string next_calls(uint32_t stream, int count) {
    auto& [sequence, ticks] = streams.try_emplace(stream, 0, 10).first->second;
    uint64_t base_ticks = ticks;
    ticks += static_cast<uint64_t>(count) * (kCallTicks + kTicksBetweenCalls);
    return chunk({ChunkKind::kEvents, stream, sequence++, base_ticks, true, {}, 1, unit}, calls(count));
  }
};

Layout with_names() {
  Layout layout{file_header(5, 0)};
  layout.add_chunk(catalog(name_entry(1, NameKind::kOperation, Category::kPython, "step") +
                           name_entry(2, NameKind::kBoundary, Category::kBackend, "f") +
                           name_entry(3, NameKind::kDeviceWork, Category::kPython, "gemm") + queue_entry(9, 0) +
                           launch_site_entry(1, 1, Stage::kNone)));
  return layout;
}

std::string device_work(uint32_t sequence) {
  uint64_t base = 50 + 100 * sequence;
  return chunk({ChunkKind::kDevice, 9, sequence, base, true, {}}, work_record(kKernel, 0, 20, 3, 1));
}

// As of a program whose main thread left most of its last chunk: main, its rest, a queue, names, a thread, its rest.
Layout typical() {
  Layout layout = with_names();
  layout.add_calls(0, kCallsInAPage);
  layout.add_free(8);
  layout.add_chunk(device_work(0));
  layout.add_chunk(chunk({ChunkKind::kCatalog, kNoStream, 1, 0, true, {}},
                         name_entry(4, NameKind::kOperation, Category::kPython, "later")));
  layout.add_chunk(device_work(1));
  layout.add_free(1);
  layout.add_calls(1, 2 * kCallsInAPage);
  layout.add_free(2);
  return layout;
}

// What readers find: the file's numbers, and all its times.
std::vector<uint64_t> content_of(const std::string& path) {
  TraceFile file(path.c_str(), false);
  SweepResult result = sweep(file, {0, true});
  std::vector<uint64_t> content{result.start_ticks,       result.end_ticks,     result.events["operation"],
                                result.crossings["f"],    file.names().size(),  file.device_chunks().size(),
                                file.chunk_change_ticks()};
  for (const SweptTime& row : result.breakdown) content.push_back(row.ticks);
  for (const SweptThreadTime& row : result.threads) content.push_back(row.ticks);
  for (const SweptDevice& row : result.devices) content.push_back(row.busy_ticks);
  return content;
}

std::string bytes_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Compacts the file as a recording does that ends.
uint64_t compact(const char* path, const Layout& layout) {
  int fd = open(path, O_RDWR);
  uint64_t end = compact(fd, layout.closed, layout.free, layout.bytes.size());
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(end)), 0);
  close(fd);
  return end;
}

std::string finished(std::string bytes) {
  bytes.replace(0, kFileHeaderBytes, file_header(5, 1'000'000'000));
  return sealed(bytes);
}

uint64_t bytes_of_chunks(const Layout& layout) {
  uint64_t bytes = kFileHeaderBytes;
  for (const Region& chunk : layout.closed) bytes += chunk.bytes;
  return bytes;
}

bool has_a_chunk_twice(const std::string& bytes) {
  std::multiset<std::string> headers;
  ChunkHeader header;
  for (size_t at = kFileHeaderBytes; at < bytes.size(); at += header.chunk_bytes) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.kind != ChunkKind::kFree) headers.insert(bytes.substr(at, sizeof header));
  }
  return std::set<std::string>(headers.begin(), headers.end()).size() < headers.size();
}

TEST(FreeSpace, OfATypicalFileIsAllFilled) {
  Layout layout = typical();
  TemporaryFile file(layout.bytes);
  std::vector<uint64_t> before = content_of(file.path());
  EXPECT_EQ(before[3], 3u * kCallsInAPage);
  EXPECT_EQ(compact(file.path(), layout), bytes_of_chunks(layout));
  EXPECT_EQ(content_of(file.path()), before);
}

// A small chunk that moves makes room for a large one behind it, as among twenty threads.
TEST(FreeSpace, OfSeveralThreadsMakesRoomForALargeChunk) {
  Layout layout = with_names();
  for (uint32_t thread = 0; thread < 4; thread++) {
    layout.add_calls(thread, 1);
    layout.add_free(2);
  }
  layout.add_calls(4, 5 * kCallsInAPage);
  TemporaryFile file(layout.bytes);
  std::vector<uint64_t> before = content_of(file.path());
  EXPECT_EQ(compact(file.path(), layout), bytes_of_chunks(layout));
  EXPECT_EQ(content_of(file.path()), before);
}

TEST(FreeSpace, StaysWhereTheLastChunkFitsNowhere) {
  Layout layout = with_names();
  layout.add_calls(0, 1);
  layout.add_free(2);
  layout.add_calls(1, 3 * kCallsInAPage);
  uint64_t used = layout.bytes.size();
  layout.add_free(4);
  TemporaryFile file(layout.bytes);
  std::vector<uint64_t> before = content_of(file.path());
  EXPECT_EQ(compact(file.path(), layout), used);
  EXPECT_EQ(content_of(file.path()), before);
}

TEST(FreeSpace, BeforeAChunkThatSomebodyStillWritesIntoIsFilledFromBehindIt) {
  Layout layout = with_names();
  layout.add_free(4);
  std::vector<Region> nobodys;
  layout.add(layout.next_calls(0, 1), nobodys);
  uint64_t used = layout.bytes.size();
  layout.add_calls(1, 1);
  TemporaryFile file(layout.bytes);
  std::vector<uint64_t> before = content_of(file.path());
  EXPECT_EQ(compact(file.path(), layout), used);
  EXPECT_EQ(content_of(file.path()), before);
}

TEST(FreeSpace, IsFilledWithTwoMiBAtMost) {
  constexpr int kChunks = 4;
  Layout layout = with_names();
  layout.add_free(kChunks * 257);
  for (int i = 0; i < kChunks; i++) layout.add_calls(0, 256 * kPage / 5 - 20);
  TemporaryFile file(layout.bytes);
  ASSERT_EQ(layout.closed.back().bytes, 256 * kPage);
  EXPECT_EQ(compact(file.path(), layout), layout.bytes.size() - (2 << 20));
}

// Runs `compact` on the file; `before_write` is asked as above. Returns how many writes there were.
int compact_watched(const char* path, const Layout& layout, const std::function<int(int number)>& before_write) {
  int writes = 0;
  g_before_write = [&] { return before_write(writes++); };
  compact(path, layout);
  g_before_write = nullptr;
  return writes;
}

TEST(FreeSpace, AProcessThatIsKilledBeforeAnyWriteLosesNothing) {
  Layout layout = typical();
  TemporaryFile file(layout.bytes);
  std::vector<uint64_t> before = content_of(file.path());
  int twice = 0;
  int writes = compact_watched(file.path(), layout, [&](int number) {
    std::string bytes = bytes_at(file.path());
    TemporaryFile left(bytes);
    EXPECT_EQ(content_of(left.path()), before) << "before write " << number;
    if (!has_a_chunk_twice(bytes)) return 0;
    twice++;
    TemporaryFile ended(finished(bytes));
    EXPECT_THROW(content_of(ended.path()), TraceDamage) << "a finished file has no chunk twice";
    return 0;
  });
  EXPECT_EQ(twice, 4);  // chunks were moved
  EXPECT_GT(writes, 3 * twice);
}

TEST(FreeSpace, AWriteThatFailsLeavesASoundFile) {
  Layout layout = typical();
  TemporaryFile sound(finished(layout.bytes));
  std::vector<uint64_t> before = content_of(sound.path());
  bool is_reached = true;
  for (int failing = 0; is_reached; failing++) {
    TemporaryFile file(layout.bytes);
    auto fail_once = [&](int number) { return number == failing ? EIO : 0; };
    is_reached = failing < compact_watched(file.path(), layout, fail_once);
    TemporaryFile ended(finished(bytes_at(file.path())));
    EXPECT_EQ(content_of(ended.path()), before) << "write " << failing << " failed";
  }
}

// Whether some chunk would fit into free space before it.
bool has_room_for_a_chunk(const std::string& bytes) {
  uint64_t largest = 0;
  uint64_t touching = 0;
  ChunkHeader header;
  for (size_t at = kFileHeaderBytes; at < bytes.size(); at += header.chunk_bytes) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    bool is_free = header.kind == ChunkKind::kFree;
    if (!is_free && header.chunk_bytes <= largest) return true;
    touching = is_free ? touching + header.chunk_bytes : 0;
    largest = std::max(largest, touching);
  }
  return false;
}

TEST(FreeSpace, OfAnyFileHasNoRoomForAChunk) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; round++) {
    Layout layout = with_names();
    bool is_fine = round % 2 == 0;
    if (is_fine) layout.unit = kChunkAlignment;
    int most_calls = is_fine ? 40 : kCallsInAPage;
    for (unsigned pieces = random() % 20; pieces > 0; pieces--) {
      if (random() % 3 == 0) layout.add_free(1 + random() % 9);
      else layout.add_calls(random() % 3, static_cast<int>(1 + random() % 5 * static_cast<unsigned>(most_calls)));
    }
    TemporaryFile file(layout.bytes);
    std::vector<uint64_t> before = content_of(file.path());
    compact_watched(file.path(), layout, [&](int number) {
      if (number % 5) return 0;
      TemporaryFile left(bytes_at(file.path()));
      EXPECT_EQ(content_of(left.path()), before) << "round " << round << ", before write " << number;
      return 0;
    });
    EXPECT_EQ(content_of(file.path()), before) << "round " << round;
    EXPECT_FALSE(has_room_for_a_chunk(bytes_at(file.path()))) << "round " << round;
  }
}

class FreeSpaceOfARecording : public Recording {
 protected:
  // Threads that live until the end, with chunks of different sizes that are mostly empty, and names between them.
  void record() {
    std::vector<std::thread> threads;
    std::promise<void> promise;
    std::shared_future<void> ended = promise.get_future().share();
    for (int number = 0; number < 8; number++) {
      std::promise<void> recorded;
      threads.emplace_back([number, ended, &recorded] {
        std::string name = "call of thread " + std::to_string(number);
        CodedId call = Session::intern(NameKind::kBoundary, Category::kBackend, name);
        StreamWriter* writer = Session::writer();
        for (int i = 0; i < kCalls * (number % 4); i++) {
          writer->begin(call);
          writer->end();
        }
        recorded.set_value();
        ended.wait();
      });
      recorded.get_future().wait();
    }
    Session::stop(EndReason::kStopped);
    promise.set_value();
    for (std::thread& thread : threads) thread.join();
  }
  uint64_t calls_recorded() {
    TraceFile file(path_, false);
    uint64_t calls = 0;
    for (const auto& [name, count] : sweep(file, {}).crossings) calls += count;
    return calls;
  }

  static constexpr int kCalls = 5000;
  static constexpr uint64_t kAllCalls = 2 * (1 + 2 + 3) * kCalls;
};

TEST_F(FreeSpaceOfARecording, IsGivenBack) {
  record();
  EXPECT_FALSE(has_room_for_a_chunk(bytes_at(path_)));
  EXPECT_LT(std::filesystem::file_size(path_), kAllCalls * 20);
  EXPECT_EQ(calls_recorded(), kAllCalls);
}

TEST_F(FreeSpaceOfARecording, StaysWhileSomebodyReadsTheFile) {
  {
    TraceFile reader(path_, false);
    record();
    EXPECT_NO_THROW(sweep(reader, {}));
  }
  EXPECT_TRUE(has_room_for_a_chunk(bytes_at(path_)));
  EXPECT_EQ(calls_recorded(), kAllCalls);
}

}  // namespace
}  // namespace rlscope
