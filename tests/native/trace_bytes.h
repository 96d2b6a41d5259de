// Builds process files in memory, sound or not, for the tests of the reader and the sweep.
#pragma once
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "crc32c.h"
#include "trace_format.h"
#include "varint.h"

namespace rlscope {

inline std::string varint(uint64_t value) {
  unsigned bytes;
  uint64_t word = encode_varint(value, bytes);
  return std::string(reinterpret_cast<const char*>(&word), bytes);
}

inline std::string begin_record(uint64_t delta, uint32_t id) { return varint(delta << 2 | kBegin) + varint(id); }
inline std::string expected_record(uint64_t delta) { return varint(delta << 2 | kExpected); }
inline std::string end_record(uint64_t delta) { return varint(delta << 2 | kEnd); }
// A record of this tag with these numbers behind it.
inline std::string tagged_record(uint64_t delta, uint64_t tag, const std::vector<uint64_t>& numbers) {
  std::string record = varint(delta << 2 | kOther) + varint(tag);
  for (uint64_t number : numbers) record += varint(number + 1);
  return record;
}
inline std::string absent_record(uint64_t delta, uint64_t blocked, uint64_t queued, uint64_t helped) {
  return tagged_record(delta, kAbsent, {blocked, queued, helped});
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string file_header(uint64_t start_ticks, uint64_t stop_ticks) {
  FileHeader header{};
  std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
  header.format_version = kFormatVersion;
  header.header_bytes = kFileHeaderBytes;
  header.clock = ClockKind::kMonotonic;
  header.start_ticks = start_ticks;
  header.stop_ticks = header.last_pair.ticks = stop_ticks;
  header.end_reason = stop_ticks ? EndReason::kStopped : EndReason::kNone;
  std::string page = bytes_of(header);
  page.resize(kFileHeaderBytes);
  return page;
}

constexpr uint32_t kPage = 4096;

struct ChunkOptions {
  ChunkKind kind = ChunkKind::kEvents;
  uint32_t stream = 0;
  uint32_t sequence = 0;
  uint64_t base_ticks = 0;
  bool is_closed = true;
  std::vector<uint32_t> open_frames = {};
  uint64_t switch_ticks = 0;
  uint32_t unit = kPage;  // of its length
};

inline std::string chunk(const ChunkOptions& options, const std::string& payload) {
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.kind = options.kind;
  header.payload_offset = static_cast<uint32_t>(sizeof header + options.open_frames.size() * sizeof(uint32_t));
  header.chunk_bytes =
      static_cast<uint32_t>(header.payload_offset + payload.size() + options.unit - 1) / options.unit * options.unit;
  if (options.is_closed) {
    header.flags = kChunkClosed;
    header.payload_bytes = static_cast<uint32_t>(payload.size());
  }
  header.stream = options.stream;
  header.sequence = options.sequence;
  header.base_ticks = options.base_ticks;
  header.switch_ticks = options.switch_ticks;
  header.depth = static_cast<uint32_t>(options.open_frames.size());
  std::string bytes = bytes_of(header);
  for (uint32_t id : options.open_frames) bytes += bytes_of(id);
  bytes += payload;
  if (options.is_closed) {
    uint32_t crc = crc32c(0, bytes.data(), bytes.size());
    std::memcpy(bytes.data() + offsetof(ChunkHeader, crc32c), &crc, sizeof crc);
  }
  bytes.resize(header.chunk_bytes);
  return bytes;
}

inline std::string entry(EntryType type, std::string content) {
  content.resize((content.size() + 3) / 4 * 4);
  uint32_t head = static_cast<uint32_t>(content.size() + 4) << 8 | static_cast<uint32_t>(type);
  return bytes_of(head) + content;
}

inline std::string name_entry(uint32_t id, NameKind kind, Category category, const std::string& name) {
  return entry(EntryType::kName, bytes_of(NameEntry{id, kind, category, static_cast<uint16_t>(name.size())}) + name);
}

inline std::string queue_entry(uint32_t stream, uint32_t device) {
  return entry(EntryType::kQueue, bytes_of(QueueEntry{stream, device, 1, 7}));
}

inline std::string launch_site_entry(uint32_t id, uint32_t operation, Stage stage) {
  return entry(EntryType::kLaunchSite, bytes_of(LaunchSite{id, 0, operation, stage, {}}));
}

// Of a chunk of device work; `bytes` only for copies and memsets.
inline std::string work_record(DeviceWork work, uint64_t start_delta, uint64_t ticks, uint32_t name, uint32_t launch_site,
                               uint64_t bytes = 0) {
  std::string record = varint(start_delta << 3 | work) + varint(ticks + 1) + varint(name) + varint(launch_site);
  return work == kCopy || work == kMemset ? record + varint(bytes + 1) : record;
}

inline std::string catalog(const std::string& entries) {
  return chunk({ChunkKind::kCatalog, kNoStream, 0, 0, true, {}}, entries);
}

// With the header that a recording that ended would have: it says what there is of the file, and its own checksum.
inline std::string sealed(std::string bytes) {
  FileHeader header;
  if (bytes.size() < sizeof header) return bytes;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.stop_ticks == 0) return bytes;
  header.file_bytes = bytes.size();
  header.chunks = 0;
  ChunkHeader chunk;
  for (size_t at = kFileHeaderBytes; at + sizeof chunk <= bytes.size(); at += std::max(chunk.chunk_bytes, kChunkAlignment)) {
    std::memcpy(&chunk, bytes.data() + at, sizeof chunk);
    header.chunks += chunk.kind != ChunkKind::kFree && (chunk.flags & kChunkClosed);
  }
  header.header_crc32c = 0;
  header.header_crc32c = crc32c(0, &header, summed_header_bytes(header.format_version));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// A file that exists as long as this object. One that ends in an orderly way is sealed unless it is damaged on purpose.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content, bool is_sealed = true) {
    std::string bytes = is_sealed ? sealed(content) : content;
    int fd = mkstemp(path_);
    if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    close(fd);
  }
  ~TemporaryFile() { unlink(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/rlscope-test-XXXXXX";
};

}  // namespace rlscope
