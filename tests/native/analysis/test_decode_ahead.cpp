// Records that another thread has decoded are the same, in whatever order streams are read, left and damaged.
#include "decode_ahead.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <tuple>

#include "trace_bytes.h"
#include "trace_reader.h"

namespace rlscope {
namespace {

constexpr uint32_t kStreams = 3;
constexpr uint32_t kChunks = 6;

std::string random_payload(std::mt19937& random) {
  std::string payload;
  bool is_named = false;
  for (unsigned records = random() % 30000; records > 0; records--) {
    uint64_t delta = 1 + (random() % 8 ? random() % 100 : random() % 5'000'000) + (random() % 1000 ? 0 : 1ull << 33);
    unsigned kind = random() % 200;
    if (kind == 0) {
      payload += absent_record(delta, delta / 2, delta / 4, 0);
    } else if (kind < 100) {
      payload += end_record(delta);
    } else if (kind < 140 && is_named) {
      payload += expected_record(delta);
    } else {
      payload += begin_record(delta, random() % 3 ? 2 : 300);
      is_named = true;
    }
  }
  if (random() % 4 == 0) payload[random() % (payload.size() + 1)] = '\xff';
  return payload;
}

std::string random_file(std::mt19937& random) {
  std::string bytes = file_header(0, 0);
  for (uint32_t sequence = 0; sequence < kChunks; sequence++) {
    for (uint32_t stream = 0; stream < kStreams; stream++) {
      ChunkOptions options;
      options.stream = stream;
      options.sequence = sequence + (random() % 20 == 0);
      options.base_ticks = uint64_t{sequence} << 40;
      options.open_frames.assign(random() % 3, 2);
      bytes += chunk(options, random_payload(random));
      if (random() % 10 == 0) bytes[bytes.size() - 1000] ^= 1;
    }
  }
  if (random() % 2 == 0) bytes.resize(bytes.size() - random() % 100'000);
  return bytes;
}

using Seen = std::vector<std::tuple<uint32_t, RecordType, uint64_t, uint64_t, uint64_t>>;

// All records and what was reported, where some are rejected and a stream may be left before its end.
std::pair<Seen, std::vector<std::string>> read_all(const std::string& path, bool decodes_ahead, unsigned seed) {
  std::mt19937 random(seed);
  TraceFile file(path, true);
  std::optional<DecodeAhead> ahead;
  if (decodes_ahead) ahead.emplace(file.streams().size());
  std::vector<std::pair<uint32_t, std::unique_ptr<StreamReader>>> readers;
  for (const auto& [number, stream] : file.streams()) {
    readers.emplace_back(number, std::make_unique<StreamReader>(file, stream, 8192, 0, ahead ? &*ahead : nullptr));
  }
  Seen seen;
  while (!readers.empty()) {
    size_t turn = random() % readers.size();
    auto& [number, reader] = readers[turn];
    bool is_left = random() % 2000 == 0;
    for (unsigned left = is_left ? 0 : random() % 5000; left > 0; left--) {
      is_left = !reader->next();
      if (is_left) break;
      bool is_gap = reader->type() == RecordType::kAbsent;
      uint64_t before = reader->type() == RecordType::kChunkStart ? reader->ticks_before_chunk() : reader->record_offset();
      uint64_t what = reader->is_begin() ? reader->id() : is_gap ? reader->absent_gap().start_ticks : 0;
      seen.emplace_back(number, reader->type(), reader->ticks(), before, what);
      if (random() % 20000 == 0) reader->reject("nobody wants it");
    }
    if (is_left) readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(turn));
  }
  return {seen, file.damage()};
}

TEST(DecodeAhead, GivesTheSameRecordsAndDamage) {
  for (unsigned seed = 0; seed < 8; seed++) {
    std::mt19937 random(seed);
    TemporaryFile file(random_file(random));
    auto expected = read_all(file.path(), false, seed);
    EXPECT_EQ(read_all(file.path(), true, seed), expected) << "with the seed " << seed;
    EXPECT_GT(expected.first.size(), 1000u);
  }
}

TEST(DecodeAhead, StopsWhereTheReaderDoes) {
  std::mt19937 random(1);
  TemporaryFile file(random_file(random));
  TraceFile trace(file.path(), true);
  DecodeAhead ahead(1);
  { StreamReader never_read(trace, trace.streams().at(0), 8192, 0, &ahead); }
  StreamReader begun(trace, trace.streams().at(1), 8192, 0, &ahead);
  EXPECT_TRUE(begun.next());
}

TEST(DecodeAhead, ThrowsWhatReadingDid) {
  TemporaryFile file(file_header(0, 1) + chunk({}, begin_record(1, 2)));
  TraceFile trace(file.path(), false);
  DecodeAhead ahead(1);
  StreamIndex index = trace.streams().at(0);
  index.chunks[0].offset = 1ull << 63;  // no file is that long
  StreamReader reader(trace, index, 8192, 0, &ahead);
  EXPECT_THROW(reader.next(), std::system_error);
}

}  // namespace
}  // namespace rlscope
