// Reads a whole process file with its device records, in the simplest way: a second opinion beside src/analysis.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "event_records.h"
#include "trace_format.h"
#include "varint.h"

namespace rlscope {

struct ReadName {
  NameKind kind;
  Category category;
  std::string text;
};

struct ReadRecord {
  uint32_t stream;  // the queue's
  DeviceWork work;
  uint64_t start_ticks;
  uint64_t end_ticks;
  std::string name;
  LaunchSite launch_site;
  uint64_t bytes;
};

struct ReadCall {
  uint32_t stream;  // the thread's
  std::string name;
  Category category;
  uint64_t begin_ticks;
  uint64_t end_ticks;  // 0: still open where the file ends
  size_t depth;        // frames open around it
};

class DeviceTrace {
 public:
  explicit DeviceTrace(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    if (bytes_.size() < kFileHeaderBytes) throw std::runtime_error(path + " is no process file");
    std::memcpy(&header, bytes_.data(), sizeof header);
    std::vector<size_t> offsets = chunk_offsets(bytes_);
    bytes_.append(8, '\0');  // numbers are read eight bytes at a time
    for (bool is_catalog : {true, false}) {
      for (size_t at : offsets) {
        ChunkHeader chunk;
        std::memcpy(&chunk, bytes_.data() + at, sizeof chunk);
        if ((chunk.kind == ChunkKind::kCatalog) == is_catalog) read_chunk(at, chunk);
      }
    }
  }

  // The records of a kind of work, in the order of their chunks.
  std::vector<ReadRecord> of(DeviceWork work) const {
    std::vector<ReadRecord> found;
    for (const auto& chunk : chunks) {
      for (const ReadRecord& record : chunk) {
        if (record.work == work) found.push_back(record);
      }
    }
    return found;
  }
  std::string operation_of(const ReadRecord& record) const {
    return record.launch_site.operation ? names.at(record.launch_site.operation).text : "";
  }
  // The last property that has this text in it.
  std::string property(const std::string& text) const {
    std::string found;
    for (const std::string& json : properties) {
      if (json.find(text) != std::string::npos) found = json;
    }
    return found;
  }
  std::vector<ReadCall> calls_named(const std::string& name) const {
    std::vector<ReadCall> found;
    for (const ReadCall& call : calls) {
      if (call.name == name) found.push_back(call);
    }
    return found;
  }

  FileHeader header;
  std::map<uint32_t, ReadName> names;
  std::map<uint32_t, QueueEntry> queues;  // by stream
  std::map<uint32_t, LaunchSite> launch_sites;
  std::vector<std::string> properties;
  std::vector<std::vector<ReadRecord>> chunks;  // of device work
  std::vector<ReadCall> calls;                  // and operations

 private:
  void read_chunk(size_t at, const ChunkHeader& chunk) {
    const char* payload = bytes_.data() + at + chunk.payload_offset;
    bool is_closed = chunk.flags & kChunkClosed;
    const char* end = is_closed ? payload + chunk.payload_bytes : bytes_.data() + at + chunk.chunk_bytes;
    if (chunk.kind == ChunkKind::kCatalog) read_catalog(payload, end);
    auto* cursor = reinterpret_cast<const uint8_t*>(payload);
    auto* last = reinterpret_cast<const uint8_t*>(end);
    if (chunk.kind == ChunkKind::kDevice) read_device_chunk(cursor, last, chunk);
    if (chunk.kind == ChunkKind::kEvents) read_events(cursor, last, chunk);
  }

  void read_catalog(const char* entry, const char* end) {
    uint32_t head;
    for (; entry < end && (std::memcpy(&head, entry, sizeof head), head != 0); entry += head >> 8) {
      const char* fixed = entry + sizeof head;
      switch (static_cast<EntryType>(head & 0xFF)) {
        case EntryType::kName: {
          NameEntry name;
          std::memcpy(&name, fixed, sizeof name);
          names[name.id] = {name.kind, name.category, std::string(fixed + sizeof name, name.name_bytes)};
          break;
        }
        case EntryType::kProperties: {
          uint32_t size;
          std::memcpy(&size, fixed, sizeof size);
          properties.emplace_back(fixed + sizeof size, size);
          break;
        }
        case EntryType::kQueue: {
          QueueEntry queue;
          std::memcpy(&queue, fixed, sizeof queue);
          queues[queue.stream] = queue;
          break;
        }
        case EntryType::kLaunchSite: {
          LaunchSite launch_site;
          std::memcpy(&launch_site, fixed, sizeof launch_site);
          launch_sites[launch_site.id] = launch_site;
          break;
        }
        case EntryType::kCode:
        case EntryType::kStack:
          break;  // no test here records Python
      }
    }
  }

  void read_device_chunk(const uint8_t* cursor, const uint8_t* end, const ChunkHeader& chunk) {
    std::vector<ReadRecord> records;
    uint64_t start = chunk.base_ticks;
    while (cursor < end && *cursor != 0) {
      uint64_t first = decode_varint(cursor);
      ReadRecord record{};
      record.stream = chunk.stream;
      record.work = static_cast<DeviceWork>(first & 7);
      record.start_ticks = start += first >> 3;
      record.end_ticks = start + decode_varint(cursor) - 1;
      record.name = names.at(static_cast<uint32_t>(decode_varint(cursor))).text;
      record.launch_site = launch_sites.at(static_cast<uint32_t>(decode_varint(cursor)));
      if (record.work == kCopy || record.work == kMemset) record.bytes = decode_varint(cursor) - 1;
      records.push_back(record);
    }
    chunks.push_back(records);
  }

  // As long as a thread's records fit its first chunk; tests of the collector need no more.
  void read_events(const uint8_t* cursor, const uint8_t* end, const ChunkHeader& chunk) {
    std::vector<size_t> open;
    ChunkSoFar so_far{chunk.base_ticks};
    while (cursor < end && *cursor != 0) {
      EventRecord record = read_event_record(cursor, chunk.stream, so_far);
      if (record.kind == kBegin) {
        const ReadName& name = names.at(static_cast<uint32_t>(record.tag_or_name));
        calls.push_back({chunk.stream, name.text, name.category, record.ticks, 0, open.size()});
        open.push_back(calls.size() - 1);
      } else if (record.kind == kEnd && !open.empty()) {
        calls[open.back()].end_ticks = record.ticks;
        open.pop_back();
      }
    }
  }

  std::string bytes_;
};

}  // namespace rlscope
