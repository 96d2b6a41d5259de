// The reader on sound, damaged and hostile bytes.
#include "trace_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "sweep.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

const std::string kNames = catalog(name_entry(1, NameKind::kOperation, Category::kPython, "step") +
                                   name_entry(2, NameKind::kBoundary, Category::kBackend, "f"));

std::string message_of(const std::string& bytes) {
  TemporaryFile file(bytes);
  try {
    TraceFile trace(file.path(), false);
    sweep(trace, {});
  } catch (const TraceDamage& damage) {
    return damage.what();
  }
  return {};
}

TEST(Varint, RoundTripsAtEveryLength) {
  for (unsigned bits = 0; bits < 56; bits++) {
    for (uint64_t value : {1ull << bits, (2ull << bits) - 1}) {
      std::string coded = varint(value);
      EXPECT_EQ(coded.size(), bits / 7 + 1);
      EXPECT_NE(coded.front(), 0);
      coded.resize(2 * kMaxVarintBytes, '\xff');
      const auto* cursor = reinterpret_cast<const uint8_t*>(coded.data());
      EXPECT_EQ(decode_varint(cursor), value);
    }
  }
}

TEST(Varint, RefusesWhatIsNone) {
  const uint8_t ones[16] = {0xff, 0xff};
  const uint8_t* cursor = ones;
  EXPECT_EQ(decode_varint(cursor), 0u);
  EXPECT_EQ(cursor, ones);
  const uint8_t zero[16] = {};
  cursor = zero;
  EXPECT_EQ(decode_varint(cursor), 0u);
}

TEST(RecordLengths, AreThoseOfDecodedNumbers) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(RecordLengths::kBytes + RecordLengths::kReadBeyond);
  for (int round = 0; round < 200; round++) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() & (round % 2 ? 0xFF : random()));
    RecordLengths lengths(bytes.data());
    for (size_t place = 0; place < RecordLengths::kBytes; place++) {
      auto bytes_of_number = [&](size_t at) { return static_cast<size_t>(__builtin_ctz(~bytes[at] | 0x80)) + 1; };
      const uint8_t* cursor = &bytes[place];
      size_t expected = bytes_of_number(place);
      uint64_t kind = expected <= 3 ? decode_varint(cursor) & 3 : uint64_t{kOther};
      size_t of_id = expected <= 3 ? bytes_of_number(place + expected) : 0;
      if (kind == kBegin) expected = of_id <= 3 ? expected + of_id : 0;
      EXPECT_EQ(lengths.at(place), kind == kOther ? size_t{0} : expected);
    }
  }
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c(0, "123456789", 9), 0xE3069283u);
  EXPECT_EQ(crc32c(0, std::string(32, '\0').data(), 32), 0x8A9136AAu);
  EXPECT_EQ(crc32c(0, std::string(32, '\xff').data(), 32), 0x62A8AB43u);
  EXPECT_EQ(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xE3069283u);
}

TEST(StreamReader, ReadsAcrossWindows) {
  std::string payload;
  for (int i = 0; i < 20000; i++) payload += begin_record(1000 + i, 2) + end_record(i * 7 % 300000);
  TemporaryFile file(file_header(0, 1) + kNames + chunk({}, payload));
  TraceFile trace(file.path(), false);
  for (size_t window_bytes : {64, 100, 4096, 1 << 20}) {
    StreamReader reader(trace, trace.streams().at(0), window_bytes);
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.type(), RecordType::kChunkStart);
    uint64_t ticks = 0;
    for (int i = 0; i < 20000; i++) {
      ASSERT_TRUE(reader.next());
      ASSERT_EQ(reader.type(), RecordType::kBegin);
      ASSERT_EQ(reader.ticks(), ticks += 1000 + i);
      ASSERT_EQ(reader.id(), 2u);
      ASSERT_TRUE(reader.next());
      ASSERT_EQ(reader.type(), RecordType::kEnd);
      ASSERT_EQ(reader.ticks(), ticks += i * 7 % 300000);
    }
    EXPECT_FALSE(reader.next());
  }
}

TEST(StreamReader, ReadsExpectedNames) {
  auto begun = [](const std::string& payload, const std::string& next_payload) {
    TemporaryFile file(file_header(0, 1) + kNames + chunk({}, payload) + chunk({.sequence = 1}, next_payload));
    TraceFile trace(file.path(), false);
    StreamReader reader(trace, trace.streams().at(0), 4096);
    std::vector<std::pair<uint64_t, uint64_t>> found;
    while (reader.next()) {
      if (!reader.is_begin()) continue;
      uint64_t id = reader.id();
      found.emplace_back(reader.ticks(), id);
    }
    return found;
  };
  using Begun = std::vector<std::pair<uint64_t, uint64_t>>;
  std::string twice = begin_record(0, 1) + begin_record(5, 2) + end_record(0) + begin_record(0, 1);
  EXPECT_EQ(begun(twice + expected_record(1), {}), (Begun{{0, 1}, {5, 2}, {5, 1}, {6, 2}}));
  EXPECT_EQ(begun(twice + expected_record(300) + expected_record(7), {}), (Begun{{0, 1}, {5, 2}, {5, 1}, {305, 2}, {312, 1}}));
  EXPECT_EQ(begun(twice + begin_record(0, 3) + begin_record(0, 1) + expected_record(1), {}).back().second, 3u) << "the last time";
  uint32_t other = 1 + kExpectedNames;
  EXPECT_EQ(begun(twice + begin_record(0, 3) + begin_record(0, other) + expected_record(1), {}).back().second, 3u) << "shares a place";
  EXPECT_EQ(begun(twice, expected_record(9)).back(), std::pair(uint64_t{9}, uint64_t{0})) << "nothing is known of another chunk";
}

TEST(StreamReader, ReadsGapsInWhichAThreadWasOffTheCpu) {
  std::string payload = begin_record(10, 2) + absent_record(50, 40, 10, 20) + end_record(0) + absent_record(1 << 20, 0, 0, 0);
  TemporaryFile file(file_header(0, 1) + kNames + chunk({ChunkKind::kEvents, 0, 0, 7, true, {}}, payload));
  TraceFile trace(file.path(), false);
  StreamReader reader(trace, trace.streams().at(0), 64);
  for (RecordType type : {RecordType::kChunkStart, RecordType::kBegin, RecordType::kAbsent}) {
    ASSERT_TRUE(reader.next());
    ASSERT_EQ(reader.type(), type);
    if (type == RecordType::kBegin) reader.id();
  }
  EXPECT_EQ(reader.ticks(), 67u);
  const AbsentGap& gap = reader.absent_gap();
  EXPECT_EQ(gap.start_ticks, 17u);
  EXPECT_EQ(gap.ticks, 50u);
  EXPECT_EQ(gap.blocked_ticks, 40u);
  EXPECT_EQ(gap.queued_ticks, 10u);
  EXPECT_EQ(gap.helped_ticks, 20u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kEnd);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.absent_gap().ticks, 1u << 20);
  EXPECT_EQ(reader.absent_gap().blocked_ticks, 0u);
  EXPECT_FALSE(reader.next());
}

TEST(StreamReader, ReadsTasks) {
  std::string task = tagged_record(5, kTask, {1, 1ull << 40, 0});
  TemporaryFile file(file_header(0, 1) + kNames + chunk({ChunkKind::kEvents, 0, 0, 7, true, {}}, task + end_record(1)));
  TraceFile trace(file.path(), false);
  StreamReader reader(trace, trace.streams().at(0), 64);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kTask);
  EXPECT_EQ(reader.ticks(), 12u);
  EXPECT_EQ(reader.task().operation, 1u);
  EXPECT_EQ(reader.task().elapsed_ticks, 1ull << 40);
  EXPECT_EQ(reader.task().running_ticks, 0u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kEnd);
}

TEST(StreamReader, ReadsCpuTimes) {
  std::string payload = tagged_record(5, kCpuTime, {1ull << 40}) + end_record(1);
  TemporaryFile file(file_header(0, 1) + kNames + chunk({ChunkKind::kEvents, 0, 0, 7, true, {}}, payload));
  TraceFile trace(file.path(), false);
  StreamReader reader(trace, trace.streams().at(0), 64);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kTagged);
  EXPECT_EQ(reader.ticks(), 12u);
  EXPECT_EQ(reader.tagged().as<CpuTimeNumbers>()->cpu_ns, 1ull << 40);
  EXPECT_FALSE(reader.tagged().as<MessageNumbers>());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kEnd);
}

std::string sample_record(uint64_t id, uint64_t flags, uint64_t elapsed, uint64_t working) {
  return tagged_record(5, kSample, {id, flags, 3, kMaxVarintValue - 1, elapsed, working});
}

TEST(StreamReader, ReadsSamples) {
  std::string sample = sample_record(1, kSampleDiscarded | kSampleOfTask, 9, 4);
  TemporaryFile file(file_header(0, 1) + kNames + chunk({ChunkKind::kEvents, 0, 0, 7, true, {}}, sample + end_record(1)));
  TraceFile trace(file.path(), false);
  StreamReader reader(trace, trace.streams().at(0), 64);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kSample);
  EXPECT_EQ(reader.ticks(), 12u);
  EXPECT_EQ(reader.sample().name, 1u);
  EXPECT_TRUE(reader.sample().is_discarded);
  EXPECT_TRUE(reader.sample().is_of_task);
  EXPECT_EQ(reader.sample().version, 3u);
  EXPECT_EQ(reader.sample().tokens, kMaxVarintValue - 1);
  EXPECT_EQ(reader.sample().elapsed_ticks, 9u);
  EXPECT_EQ(reader.sample().working_ticks, 4u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.type(), RecordType::kEnd);
}

TEST(Sweep, SamplesThatCannotBeAreDamage) {
  std::string start = file_header(0, 100) + kNames;
  EXPECT_NE(message_of(start + chunk({}, sample_record(1, 4, 0, 0))).find("a sample has the flags 4"), std::string::npos);
  EXPECT_NE(message_of(start + chunk({}, sample_record(1, 0, 2, 3))).find("cannot be worked on for 3"), std::string::npos);
  for (uint64_t id : {uint64_t{0}, uint64_t{2}, uint64_t{99}, kMaxVarintValue - 1}) {
    EXPECT_NE(message_of(start + chunk({}, sample_record(id, 0, 0, 0))).find("is not in the catalog's names of operations"),
              std::string::npos);
  }
}

TEST(Sweep, CollectivesThatCannotBeAreDamage) {
  std::string start = file_header(0, 100) + kNames;
  auto finding = [&](uint64_t id, uint64_t flags, uint64_t elapsed, uint64_t waited) {
    return message_of(start + chunk({}, tagged_record(5, kCollective, {id, flags, 3, 8, elapsed, waited})));
  };
  EXPECT_NE(finding(2, 2, 0, 0).find("a collective has the flags 2"), std::string::npos);
  EXPECT_NE(finding(2, 0, 2, 3).find("cannot be waited for for 3"), std::string::npos);
  for (uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{99}, kMaxVarintValue - 1}) {
    EXPECT_NE(finding(id, 0, 0, 0).find("is not in the catalog's names of waits"), std::string::npos);
  }
}

TEST(Sweep, MemoryOfNobodyIsDamage) {
  std::string record = tagged_record(5, kMemory, {3, 0, 0, 0});
  EXPECT_NE(message_of(file_header(0, 100) + kNames + chunk({}, record)).find("memory has the owner 3"), std::string::npos);
}

TEST(Sweep, ATaskHasTheNameOfAnOperation) {
  std::string start = file_header(0, 100) + kNames;
  for (uint64_t id : {uint64_t{0}, uint64_t{2}, uint64_t{99}, kMaxVarintValue - 1}) {
    EXPECT_NE(message_of(start + chunk({}, tagged_record(5, kTask, {id, 0, 0}))).find("is not in the catalog's names of operations"), std::string::npos);
  }
}

TEST(Sweep, AMessageHasTheNameOfAWait) {
  std::string start = file_header(0, 100) + kNames;
  for (uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{99}, kMaxVarintValue - 1}) {
    EXPECT_NE(message_of(start + chunk({}, tagged_record(5, kMessage, {id, 7}))).find("is not in the catalog's names of waits"), std::string::npos);
  }
}

TEST(StreamReader, GapsThatCannotBeAreDamage) {
  std::string start = file_header(0, 100) + kNames;
  auto finding = [&](const std::string& record) { return message_of(start + chunk({}, begin_record(1, 2) + record)); };
  EXPECT_EQ(finding(absent_record(9, 5, 4, 9)), "");
  const std::string of_older_version = varint(9 << 2 | kOther) + varint(kBlocked) + varint(9 + 1) + varint(9 + 1);
  EXPECT_EQ(finding(of_older_version), "");
  EXPECT_NE(finding(absent_record(9, 10, 0, 0)).find("a thread cannot be blocked for 10 of 9 ticks"), std::string::npos);
  EXPECT_NE(finding(absent_record(9, 5, 5, 0)).find("5 of 9 ticks, in line for 5"), std::string::npos);
  EXPECT_NE(finding(absent_record(9, 5, 1, 7)).find("in line for 1 and be helped for 7"), std::string::npos);
  EXPECT_NE(finding(varint(9 << 2 | kOther) + varint(std::size(kNumbersOfTag)) + varint(1)).find("no record starts with"), std::string::npos);
  EXPECT_NE(finding(varint(9 << 2 | kOther) + varint(kAbsent) + varint(1)).find("no record starts"), std::string::npos);
}

TEST(TraceFile, NamesFileByteAndFinding) {
  std::string start = file_header(0, 100) + kNames;
  std::string place = "is damaged at byte " + std::to_string(start.size());
  EXPECT_NE(message_of("not a trace").find("does not start with RLSCOPE"), std::string::npos);
  EXPECT_NE(message_of(start + "JUNK").find(place + ": a chunk (0x4b4e4843) was expected, 0x4b4e554a was found"),
            std::string::npos);
  std::string sound = chunk({}, begin_record(1, 1) + end_record(1));
  EXPECT_EQ(message_of(start + sound), "");
  std::string flipped = sound;
  flipped[65] = static_cast<char>(flipped[65] ^ 4);
  EXPECT_NE(message_of(start + flipped).find(place + ": the checksum"), std::string::npos);
  EXPECT_NE(message_of(start + sound.substr(0, 100)).find("the file ends inside the chunk"), std::string::npos);
  ChunkOptions second;
  second.sequence = 2;
  EXPECT_NE(message_of(start + sound + chunk(second, "")).find("chunk 1 of thread 0 was expected, chunk 2 was found"),
            std::string::npos);
}

TEST(TraceFile, HugeSizesAllocateNothing) {
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.kind = ChunkKind::kEvents;
  header.chunk_bytes = 0xFFFFF000;
  header.depth = 0x3FFFF000;
  header.payload_offset = 0xFFFFE000;
  std::string bytes = file_header(0, 100) + kNames + bytes_of(header);
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), true);
  EXPECT_TRUE(trace.streams().empty());
  EXPECT_EQ(trace.damage_count(), 1u);
  std::string huge_id = catalog(name_entry(0xFFFFFFFF, NameKind::kOperation, Category::kPython, "x"));
  EXPECT_NE(message_of(file_header(0, 100) + huge_id).find("the name with id 4294967295"), std::string::npos);
}

TEST(TraceFile, OpenChunkEndsAtTheFirstZero) {
  ChunkOptions open;
  open.is_closed = false;
  TemporaryFile file(file_header(0, 0) + kNames + chunk(open, begin_record(10, 1) + begin_record(10, 2)));
  TraceFile trace(file.path(), false);
  SweepResult result = sweep(trace, {});
  EXPECT_EQ(result.end_ticks, 20u);
  EXPECT_EQ(result.events["operation"], 1u);
}

// A process that was killed while it moved a chunk leaves it twice.
TEST(TraceFile, AChunkThatIsThereTwiceIsReadOnce) {
  ChunkOptions options{ChunkKind::kEvents, 0, 0, 5, true, {}, 7};
  std::string first = chunk(options, begin_record(10, 1));
  std::string other = chunk(options, begin_record(20, 1));
  std::string unfinished = file_header(0, 0) + kNames + kNames + first;
  TemporaryFile file(unfinished + first);
  TraceFile trace(file.path(), false);
  EXPECT_EQ(sweep(trace, {}).events["operation"], 1u);
  EXPECT_EQ(trace.chunk_change_ticks(), 7u);
  std::string damage = "chunk 1 of thread 0 was expected, chunk 0 was found";
  EXPECT_NE(message_of(unfinished + other).find(damage), std::string::npos);
  EXPECT_NE(message_of(file_header(0, 100) + kNames + first + first).find(damage), std::string::npos);
  options.is_closed = false;
  std::string open = chunk(options, begin_record(10, 1));
  EXPECT_NE(message_of(file_header(0, 0) + kNames + open + open).find(damage), std::string::npos);
}

// In a file that was cut short, chunk after chunk may claim all that follows: what is read, kept and computed stays
// linear in the size of the file.
TEST(TraceFile, NoByteBelongsToTwoChunks) {
  constexpr uint32_t kPages = 64;
  std::string bytes = file_header(0, 100);
  for (uint32_t page = 0; page < kPages; page++) {
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.kind = page % 2 ? ChunkKind::kEvents : ChunkKind::kCatalog;
    header.chunk_bytes = 0x10000000;
    header.payload_offset = (kPages - page) * kPage + sizeof header;  // the same place for all
    header.flags = kChunkClosed;
    header.payload_bytes = 10'000;
    header.sequence = page / 2;
    std::string chunk = bytes_of(header);
    chunk.resize(kPage);
    bytes += chunk;
  }
  constexpr uint32_t kTextBytes = 8000;
  std::string properties = bytes_of(kTextBytes) + std::string(kTextBytes, ' ');
  uint32_t head = static_cast<uint32_t>(properties.size() + 4) << 8 | static_cast<uint32_t>(EntryType::kProperties);
  bytes += std::string(sizeof(ChunkHeader), 'x') + bytes_of(head) + properties;
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), true);
  EXPECT_EQ(trace.properties().size(), 0u);
  EXPECT_GE(trace.damage_count(), uint64_t{kPages});
  EXPECT_EQ(sweep(trace, {}).end_ticks, 100u);
}

TEST(TraceFile, TimesThatOverflowAreDamage) {
  // Each record is the longest possible step on: after 1024 of them 64 bits would start again at 0.
  std::string payload = begin_record(5, 1);
  for (int i = 0; i < 600; i++) payload += begin_record((1ull << 54) - 1, 2) + end_record((1ull << 54) - 1);
  ChunkOptions next{ChunkKind::kEvents, 0, 1, 20, true, {1}};
  std::string bytes = file_header(0, 0) + kNames + chunk({}, payload) + chunk(next, end_record(10));
  EXPECT_NE(message_of(bytes).find("a record lies years after the start"), std::string::npos);
  TemporaryFile file(bytes);
  TraceFile trace(file.path(), true);
  SweepResult result = sweep(trace, {});
  EXPECT_EQ(trace.damage_count(), 1u);
  EXPECT_EQ(result.events["operation"], 1u);
  EXPECT_LE(result.crossings["f"], 2u);
  EXPECT_GE(result.end_ticks, 30u);
}

TEST(TraceFile, ReadingTheCatalogAgainReportsNothingTwice) {
  ChunkOptions later{ChunkKind::kCatalog, kNoStream, 3, 0, true, {}};
  std::string unknown = begin_record(1, 77);
  TemporaryFile file(file_header(0, 100) + kNames + chunk(later, "") + chunk({}, unknown));
  TraceFile trace(file.path(), true);
  EXPECT_EQ(trace.damage_count(), 1u);
  sweep(trace, {});
  EXPECT_EQ(trace.damage_count(), 2u);
}

// Run under the sanitizers this shows that no byte of the file is trusted.
TEST(TraceFile, SurvivesAnyBytes) {
  std::string sound = file_header(5, 400) + kNames;
  for (uint32_t stream = 0; stream < 3; stream++) {
    sound += chunk({ChunkKind::kEvents, stream, 0, 10, true, {}}, begin_record(1, 1) + begin_record(3, 2));
  }
  for (uint32_t stream = 0; stream < 3; stream++) {
    sound += chunk({ChunkKind::kEvents, stream, 1, 14, stream != 1, {1, 2}}, end_record(5) + end_record(200));
  }
  std::mt19937 random(1);
  int results = 0;
  for (int round = 0; round < 3000; round++) {
    std::string bytes = sound;
    for (unsigned edits = random() % 4 + 1; edits > 0; edits--) {
      size_t page = random() % (bytes.size() / kPage) * kPage;
      bytes[page + random() % 128] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    TemporaryFile file(bytes);
    for (bool recovers : {false, true}) {
      try {
        TraceFile trace(file.path(), recovers);
        SweepResult result = sweep(trace, {0, true});
        uint64_t sum = 0;
        for (const SweptTime& row : result.breakdown) sum += row.ticks;
        ASSERT_EQ(sum, result.end_ticks - result.start_ticks);
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
