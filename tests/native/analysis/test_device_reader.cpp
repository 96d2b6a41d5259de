// Device work: chunks that overlap, sums, and what damaged or hostile chunks can and cannot do.
#include "device_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "device_union.h"
#include "sweep.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

const std::string kEntries = name_entry(1, NameKind::kOperation, Category::kPython, "inference") +
                             name_entry(2, NameKind::kDeviceWork, Category::kPython, "gemm") + queue_entry(5, 0) +
                             queue_entry(6, 1) + queue_entry(7, kHost) + launch_site_entry(1, 1, Stage::kInference);
const std::string kCatalog = catalog(kEntries);

std::string work_chunk(uint32_t stream, uint32_t sequence, uint64_t base_ticks, const std::string& payload,
                       bool is_closed = true) {
  return chunk({ChunkKind::kDevice, stream, sequence, base_ticks, is_closed, {}}, payload);
}

std::string kernel(uint64_t start_delta, uint64_t ticks) { return work_record(kKernel, start_delta, ticks, 2, 1); }

SweepResult sweep_of(const std::string& bytes, bool recovers = false) {
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), recovers);
  return sweep(trace, {});
}

std::string damage_of(const std::string& bytes) {
  try {
    sweep_of(bytes);
  } catch (const TraceDamage& damage) {
    return damage.what();
  }
  return {};
}

TEST(DeviceReader, ComeInOrderFromChunksThatOverlap) {
  // More records than a window holds, in chunks that lie in the file in another order than in time.
  std::string first, second;
  for (int i = 0; i < 5000; i++) {
    first += work_record(kCopy, 2, 1, 2, 1, 1ull << 40);
    second += kernel(4, 3);
  }
  std::string bytes = file_header(0, 100000) + kCatalog + work_chunk(6, 0, 9000, second) + work_chunk(5, 1, 3, first) +
                      work_chunk(5, 0, 6, first);
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), false);
  DeviceMerge records(trace);
  uint64_t before = 0;
  int count = 0;
  for (; records.has_next(); count++) {
    uint64_t announced = records.next_ticks();
    WorkRecord record = records.take();
    EXPECT_EQ(record.start_ticks, announced);
    ASSERT_GE(record.start_ticks, before);
    before = record.start_ticks;
    EXPECT_EQ(record.device, record.work == kKernel ? 1u : 0u);
    EXPECT_EQ(record.bytes, record.work == kKernel ? 0 : 1ull << 40);
  }
  EXPECT_EQ(count, 15000);
}

TEST(DeviceReader, OpenChunkEndsAtTheFirstZero) {
  SweepResult result = sweep_of(file_header(0, 0) + kCatalog + work_chunk(5, 0, 10, kernel(0, 5) + kernel(1, 9), false));
  EXPECT_EQ(result.end_ticks, 20u);
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_EQ(result.devices[0].busy_ticks, 10u);
}

TEST(DeviceReader, LearnsWhatIsAddedWhileItReads) {
  ChunkOptions open_catalog{ChunkKind::kCatalog, kNoStream, 0, 0, false, {}};
  std::string header = file_header(0, 0);
  std::string work = work_chunk(5, 0, 10, kernel(0, 5), false);
  TemporaryFile file(header + chunk(open_catalog, name_entry(1, NameKind::kOperation, Category::kPython, "inference")) +
                     work);
  TraceFile trace(file.path(), false);
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary)
      << header << chunk(open_catalog, kEntries) << work;
  SweepResult result = sweep(trace, {});
  ASSERT_EQ(result.device_work.size(), 1u);
  EXPECT_EQ(result.device_work[0].name.text, "gemm");
  EXPECT_EQ(result.device_work[0].operation, "inference");
}

// Behind work that does not end, any amount of other work comes and goes.
TEST(DeviceTimeline, LongWorkKeepsTheDevice) {
  constexpr uint64_t kShort = 100000;
  std::string many;
  for (uint64_t i = 0; i < kShort; i++) many += work_record(kMemset, 10, 4, 2, 2, 1);
  std::string names = kEntries + queue_entry(8, 1) + launch_site_entry(2, 0, Stage::kNone);
  SweepResult result = sweep_of(file_header(0, 10 * kShort + 100) + catalog(names) +
                                work_chunk(6, 0, 0, kernel(0, 10 * kShort + 50)) + work_chunk(8, 0, 0, many));
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_EQ(result.devices[0].busy_ticks, 10 * kShort + 50);
  EXPECT_EQ(result.devices[0].memset_ticks, 4 * kShort);
  ASSERT_EQ(result.device_operations.size(), 2u);
  EXPECT_EQ(result.device_operations[0].busy_ticks, 0u);
  EXPECT_EQ(result.device_operations[1].busy_ticks, 10 * kShort + 50);
}

TEST(DeviceReader, DamageIsNamedAndLeftOut) {
  std::string start = file_header(0, 1000) + kCatalog;
  std::string sound = work_chunk(5, 1, 100, kernel(0, 10));
  const std::pair<std::string, const char*> cases[] = {
      {work_chunk(5, 0, 10, varint(1 << 3 | 7) + kernel(0, 1)), "no record of device work starts here"},
      {work_chunk(5, 0, 10, varint(1 << 3 | 0) + kernel(0, 1)), "no record of device work starts here"},
      {work_chunk(5, 0, 10, kernel(0, 1).substr(0, 3)), "no record of device work starts here"},
      {work_chunk(5, 0, 10, std::string("\0", 1)), "no record of device work starts here"},
      {work_chunk(5, 0, 10, work_record(kKernel, 0, 1, 99, 1)), "the device work's name 99 is not in the catalog"},
      {work_chunk(5, 0, 10, work_record(kKernel, 0, 1, 1, 1)), "the device work's name 1 is not in the catalog"},
      {work_chunk(5, 0, 10, work_record(kKernel, 0, 1, 2, 9)), "the launch site 9 is not in the catalog"},
      {work_chunk(5, 0, 10, varint(kKernel) + varint(2) + varint(1ull << 40) + varint(1)), "is impossible"},
      {work_chunk(5, 0, 10, work_record(kGap, 0, 1, 2, 1)), "work of kind 5 is not of its queue's device"},
      {work_chunk(7, 0, 10, kernel(0, 1)) + work_chunk(5, 0, 50, ""), "work of kind 1 is not of its queue's device"},
      {work_chunk(5, 0, 10, work_record(kKernel, 0, kMaxVarintValue - 1, 2, 1)), "years after the start"},
      {work_chunk(9, 0, 10, kernel(0, 1)) + work_chunk(5, 0, 50, ""), "queue 9 is not in the catalog"},
      {chunk({ChunkKind::kDevice, 5, 0, 10, true, {1}}, kernel(0, 1)) + work_chunk(5, 0, 50, ""), "has 1 open frames"},
      {work_chunk(5, 0, 1ull << 63, kernel(0, 1)) + work_chunk(5, 0, 50, ""), "base_ticks 9223372036854775808"},
      {"", "chunk 0 of queue 5 was expected, chunk 1 was found"},
      {work_chunk(5, 0, 10, "") + work_chunk(5, 0, 20, ""), "chunk 1 of queue 5 was expected, chunk 0 was found"},
  };
  for (const auto& [damaged, what] : cases) {
    std::string message = damage_of(start + damaged + sound);
    EXPECT_NE(message.find(what), std::string::npos) << message << ", expected: " << what;
    SweepResult result = sweep_of(start + damaged + sound, true);
    ASSERT_EQ(result.devices.size(), 1u) << what;
    EXPECT_EQ(result.devices[0].busy_ticks, 10u) << what;
  }
  std::string flipped = work_chunk(5, 0, 10, kernel(0, 1));
  flipped[sizeof(ChunkHeader)] = static_cast<char>(flipped[sizeof(ChunkHeader)] ^ 16);
  EXPECT_NE(damage_of(start + flipped + sound).find("the checksum of chunk 0 of queue 5"), std::string::npos);
  EXPECT_EQ(sweep_of(start + flipped + sound, true).devices.at(0).kernel_count, 1u);
}

TEST(DeviceReader, TimesThatOverflowAreDamage) {
  std::string payload;
  for (int i = 0; i < 3000; i++) payload += kernel((1ull << 52) - 1, 5);
  std::string bytes = file_header(0, 0) + kCatalog + work_chunk(5, 0, 10, payload);
  EXPECT_NE(damage_of(bytes).find("years after the start"), std::string::npos);
  EXPECT_LE(sweep_of(bytes, true).end_ticks, 1ull << 56);
}

TEST(TraceFile, CatalogEntriesThatCannotBe) {
  auto message = [](const std::string& entries) { return damage_of(file_header(0, 100) + catalog(kEntries + entries)); };
  EXPECT_EQ(message(queue_entry(5, 0) + launch_site_entry(1, 1, Stage::kInference)), "");
  EXPECT_EQ(message(launch_site_entry(2, 1, Stage::kSynchronisation)), "");
  EXPECT_NE(message(queue_entry(5, 3)).find("stream 5 is two queues"), std::string::npos);
  EXPECT_NE(message(launch_site_entry(1, 0, Stage::kNone)).find("id 1 is two launch sites"), std::string::npos);
  EXPECT_NE(message(launch_site_entry(2, 77, Stage::kNone)).find("the launch site with id 2, operation 77"), std::string::npos);
  EXPECT_NE(message(launch_site_entry(2, 1, static_cast<Stage>(kStages))).find("stage " + std::to_string(kStages) + " is impossible"),
            std::string::npos);
  EXPECT_NE(message(launch_site_entry(2, 0, Stage::kInference)).find("operation 0 and stage 3"), std::string::npos);
  EXPECT_NE(message(launch_site_entry(0xFFFFFFFF, 1, Stage::kNone)).find("id 4294967295"), std::string::npos);
  EXPECT_NE(message(entry(EntryType::kQueue, "1234")).find("16 bytes was expected, 4 were found"), std::string::npos);
}

// An event cannot have the name of device work.
TEST(Sweep, EventsAreNoDeviceWork) {
  std::string bytes = file_header(0, 100) + kCatalog + chunk({}, begin_record(1, 2));
  EXPECT_NE(damage_of(bytes).find("the name with id 2 is not in the catalog"), std::string::npos);
}

TEST(BusyUnion, ClocksRoundAsPythonsDo) {
  ClockMap clock{100, 50, 10, 3};
  const uint64_t ticks[] = {100, 101, 102, 103, 99, 98, 85, 84, 0};
  const uint64_t expected[] = {50, 53, 57, 60, 47, 43, 0, 0, 0};
  for (size_t i = 0; i < 9; i++) EXPECT_EQ(clock(ticks[i]), expected[i]) << ticks[i];
}

// Run under the sanitizers this shows that no byte of device chunks is trusted.
TEST(DeviceReader, SurviveAnyBytes) {
  std::string sound = file_header(5, 400) + kCatalog + chunk({ChunkKind::kEvents, 0, 0, 10, true, {}}, begin_record(1, 1));
  for (uint32_t sequence = 0; sequence < 3; sequence++) {
    sound += work_chunk(5, sequence, 10 + sequence, kernel(0, 50) + work_record(kCopy, 3, 9, 2, 1, 5), sequence != 1);
    sound += work_chunk(6, sequence, 20 - sequence, kernel(0, 50) + kernel(8, 400));
    sound += work_chunk(7, sequence, 20, work_record(kGap, 0, 9, 2, 1) + work_record(kCuptiWork, 1, 3, 2, 1));
  }
  std::mt19937 random(1);
  int results = 0;
  for (int round = 0; round < 3000; round++) {
    std::string bytes = sound;
    for (unsigned edits = random() % 4 + 1; edits > 0; edits--) {
      size_t page = random() % (bytes.size() / kPage) * kPage;
      bytes[page + random() % 160] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    TemporaryFile file(bytes);
    for (bool recovers : {false, true}) {
      try {
        TraceFile trace(file.path(), recovers);
        SweepResult result = sweep(trace, {0, true, round % 2 ? GpuAttribution::kLaunch : GpuAttribution::kCoincident});
        uint64_t wall = result.end_ticks - result.start_ticks;
        uint64_t sum = 0;
        for (const SweptTime& row : result.breakdown) sum += row.ticks;
        ASSERT_EQ(sum, wall);
        for (const SweptDevice& device : result.devices) {
          uint64_t busy = 0;
          for (const SweptDeviceOperation& row : result.device_operations) {
            if (row.device == device.device) busy += row.busy_ticks;
          }
          ASSERT_EQ(busy, device.busy_ticks);
          ASSERT_LE(busy, wall);
        }
        if (!result.devices.empty()) {
          UnionInput input{file.path(), result.start_ticks, result.end_ticks, {}, {{result.devices[0].device, 0}}};
          ASSERT_EQ(busy_union({input}, 1, WorkKind::kAny, recovers)[0], result.devices[0].busy_ticks);
        }
        results++;
      } catch (const TraceDamage& damage) {
        EXPECT_NE(std::string(damage.what()).find(file.path()), std::string::npos);
      }
    }
  }
  EXPECT_GT(results, 1000);
}

}  // namespace
}  // namespace rlscope
