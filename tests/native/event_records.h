// Finds the chunks of a file and reads the records of those of events, for tests of what the recorder writes.
#pragma once
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace_format.h"
#include "varint.h"

namespace rlscope {

// `values` are what follows the tag of a record of kind kOther, as they are stored: one more than what they mean.
struct EventRecord {
  uint32_t stream;
  uint64_t delta;  // ticks since the record before it
  uint64_t ticks;
  uint32_t kind;
  uint64_t tag_or_name;
  std::vector<uint64_t> values;
};

// What is known of a chunk where its next record begins.
struct ChunkSoFar {
  uint64_t ticks;  // of the record before
  uint64_t begun = 0;
  std::map<uint64_t, uint64_t> expected = {};
};

// Reads the record at `cursor`; one of an expected name is of kind kBegin as well.
inline EventRecord read_event_record(const uint8_t*& cursor, uint32_t stream, ChunkSoFar& chunk) {
  uint64_t first = decode_varint(cursor);
  bool is_expected = (first & 3) == kExpected;
  uint64_t delta = first >> 2;
  EventRecord record{stream, delta, chunk.ticks += delta, is_expected ? kBegin : static_cast<uint32_t>(first & 3), 0, {}};
  if (record.kind == kOther) record.tag_or_name = decode_varint(cursor);
  if (record.kind == kBegin) {
    uint64_t& expected = chunk.expected[chunk.begun % kExpectedNames];
    chunk.begun = record.tag_or_name = expected = is_expected ? expected : decode_varint(cursor);
  }
  int count = record.kind == kOther ? kNumbersOfTag[record.tag_or_name] : 0;
  for (int i = 0; i < count; i++) record.values.push_back(decode_varint(cursor));
  return record;
}

// Where the chunks of a file begin, those of a stream in their order.
inline std::vector<size_t> chunk_offsets(const std::string& bytes) {
  std::vector<std::pair<uint32_t, size_t>> found;  // with the sequence
  ChunkHeader chunk;
  for (size_t at = kFileHeaderBytes; at + sizeof chunk <= bytes.size(); at += chunk.chunk_bytes) {
    std::memcpy(&chunk, bytes.data() + at, sizeof chunk);
    if (chunk.magic != kChunkMagic) break;
    found.emplace_back(chunk.sequence, at);
  }
  std::sort(found.begin(), found.end());
  std::vector<size_t> offsets;
  for (const auto& [sequence, at] : found) offsets.push_back(at);
  return offsets;
}

// Of a file that is complete.
inline std::vector<EventRecord> read_event_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<size_t> offsets = chunk_offsets(bytes);
  bytes.resize(bytes.size() + 8);  // a varint is read as a word
  std::vector<EventRecord> records;
  for (size_t at : offsets) {
    ChunkHeader chunk;
    std::memcpy(&chunk, bytes.data() + at, sizeof chunk);
    if (chunk.kind != ChunkKind::kEvents) continue;
    auto* cursor = reinterpret_cast<const uint8_t*>(bytes.data()) + at + chunk.payload_offset;
    const uint8_t* end = cursor + chunk.payload_bytes;
    ChunkSoFar so_far{chunk.base_ticks};
    while (cursor < end) records.push_back(read_event_record(cursor, chunk.stream, so_far));
  }
  return records;
}

}  // namespace rlscope
