// The entries of a process file's catalog: names, queues, launch sites, code, stacks and properties.
#include "trace_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crc32c.h"
#include "formatted.h"
#include "vocabulary.h"

namespace rlscope {
namespace {

constexpr uint64_t kSmallestNameEntry = sizeof(uint32_t) + sizeof(NameEntry);
constexpr uint64_t kLaunchSiteBytes = sizeof(uint32_t) + sizeof(LaunchSite);
constexpr uint64_t kSmallestCodeEntry = sizeof(uint32_t) + sizeof(CodeEntry);
constexpr uint64_t kStackBytes = sizeof(uint32_t) + sizeof(StackEntry);
constexpr uint64_t kIdsAlwaysAllowed = 1 << 16;

}  // namespace

void TraceFile::read_catalog_chunk(const ChunkPlace& place) {
  ChunkHeader chunk{};
  read(place.offset, &chunk, sizeof chunk);
  uint64_t start = place.offset + chunk.payload_offset;
  uint64_t limit = std::min(place.offset + chunk.chunk_bytes, place.end);
  if (start > limit) return;
  std::vector<uint8_t> payload(limit - start);
  payload.resize(read(start, payload.data(), payload.size()));
  if (chunk.flags & kChunkClosed) {
    if (payload.size() > chunk.payload_bytes) payload.resize(chunk.payload_bytes);
    if (crc32c(sum_before_payload(place, chunk), payload.data(), payload.size()) != chunk.crc32c) {
      // Its entries are read all the same: each carries its own length, and without names nothing can be shown.
      report_damage(place.offset, "the checksum of the catalog does not match");
    }
  }
  for (size_t at = 0; at + sizeof(uint32_t) <= payload.size();) {
    uint32_t head;
    std::memcpy(&head, payload.data() + at, sizeof head);
    if (head == 0) return;
    size_t size = head >> 8;
    auto type = static_cast<EntryType>(head & 0xFF);
    if (size < 2 * sizeof(uint32_t) || size % sizeof(uint32_t) != 0 || size > payload.size() - at) {
      report_damage(start + at, formatted("a catalog entry of %zu bytes does not fit", size));
      return;
    }
    const uint8_t* entry = payload.data() + at + sizeof head;
    size_t entry_bytes = size - sizeof head;
    switch (type) {
      case EntryType::kName: read_name(start + at, entry, entry_bytes); break;
      case EntryType::kProperties: read_properties(start + at, entry, entry_bytes); break;
      case EntryType::kQueue: read_queue(start + at, entry, entry_bytes); break;
      case EntryType::kLaunchSite: read_launch_site(start + at, entry, entry_bytes); break;
      case EntryType::kCode: read_code(start + at, entry, entry_bytes); break;
      case EntryType::kStack: read_stack(start + at, entry, entry_bytes); break;
      default: report_damage(start + at, formatted("catalog entry type %u is unknown", head & 0xFF));
    }
    at += size;
  }
}

void TraceFile::read_properties(uint64_t offset, const uint8_t* entry, size_t size) {
  uint32_t length;
  std::memcpy(&length, entry, sizeof length);
  if (length > size - sizeof length) {
    report_damage(offset, formatted("properties of %u bytes do not fit an entry of %zu", length, size));
  } else {
    properties_.emplace_back(reinterpret_cast<const char*>(entry + sizeof length), length);
  }
}

void TraceFile::read_queue(uint64_t offset, const uint8_t* entry, size_t size) {
  QueueEntry queue{};
  if (size < sizeof queue) {
    report_damage(offset, formatted("a queue's entry of %zu bytes was expected, %zu were found", sizeof queue, size));
    return;
  }
  std::memcpy(&queue, entry, sizeof queue);
  const QueueEntry& known = queues_.try_emplace(queue.stream, queue).first->second;
  if (std::memcmp(&known, &queue, sizeof queue) != 0) report_damage(offset, formatted("stream %u is two queues", queue.stream));
}

void TraceFile::read_launch_site(uint64_t offset, const uint8_t* entry, size_t size) {
  LaunchSite launch_site{};
  if (size >= sizeof launch_site) std::memcpy(&launch_site, entry, sizeof launch_site);
  bool is_sound = launch_site.id != 0 && launch_site.id < kIdsAlwaysAllowed + bytes_ / kLaunchSiteBytes &&
                  static_cast<size_t>(launch_site.stage) < kStages &&
                  (launch_site.operation == 0 ? launch_site.stage == Stage::kNone : is_operation(launch_site.operation));
  if (!is_sound) {
    report_damage(offset, formatted("the launch site with id %u, operation %u and stage %u is impossible", launch_site.id,
                               launch_site.operation, static_cast<unsigned>(launch_site.stage)));
    return;
  }
  if (launch_site.id >= launch_sites_.size()) launch_sites_.resize(launch_site.id + 1);
  LaunchSite& known = launch_sites_[launch_site.id];
  if (known.id != 0 && std::memcmp(&known, &launch_site, sizeof launch_site) != 0) {
    report_damage(offset, formatted("id %u is two launch sites", launch_site.id));
    return;
  }
  known = launch_site;
}

void TraceFile::read_code(uint64_t offset, const uint8_t* entry, size_t size) {
  CodeEntry fixed{};
  if (size >= sizeof fixed) std::memcpy(&fixed, entry, sizeof fixed);
  size_t text_bytes = size_t{fixed.name_bytes} + fixed.file_bytes;
  bool is_sound = size >= sizeof fixed && text_bytes <= size - sizeof fixed && fixed.id != 0 &&
                  fixed.id < kIdsAlwaysAllowed + bytes_ / kSmallestCodeEntry;
  if (!is_sound) {
    report_damage(offset, formatted("the function with id %u and %zu bytes of text is impossible", fixed.id, text_bytes));
    return;
  }
  const char* texts = reinterpret_cast<const char*>(entry + sizeof fixed);
  if (fixed.id >= codes_.size()) codes_.resize(fixed.id + 1);
  codes_[fixed.id] = {true, fixed.first_line, {texts, fixed.name_bytes}, {texts + fixed.name_bytes, fixed.file_bytes}};
}

// A caller has a lower id, so that no stack is without end.
void TraceFile::read_stack(uint64_t offset, const uint8_t* entry, size_t size) {
  StackEntry stack{};
  if (size >= sizeof stack) std::memcpy(&stack, entry, sizeof stack);
  bool is_sound = stack.id != 0 && stack.id < kIdsAlwaysAllowed + bytes_ / kStackBytes && stack.caller < stack.id &&
                  (stack.caller == 0 || (stack.caller < stacks_.size() && stacks_[stack.caller].id != 0)) &&
                  stack.code < codes_.size() && codes_[stack.code].is_known;
  if (!is_sound) {
    report_damage(offset, formatted("the stack with id %u, caller %u and function %u is impossible", stack.id, stack.caller,
                               stack.code));
    return;
  }
  if (stack.id >= stacks_.size()) stacks_.resize(stack.id + 1);
  stacks_[stack.id] = stack;
}

void TraceFile::read_name(uint64_t offset, const uint8_t* entry, size_t size) {
  NameEntry fixed{};
  if (size >= sizeof fixed) std::memcpy(&fixed, entry, sizeof fixed);
  bool is_sound = size >= sizeof fixed && fixed.name_bytes <= size - sizeof fixed && fixed.id != 0 &&
                  fixed.id < kIdsAlwaysAllowed + bytes_ / kSmallestNameEntry && fixed.kind >= NameKind::kOperation &&
                  fixed.kind <= NameKind::kDeviceWork && static_cast<size_t>(fixed.category) < name_categories();
  if (!is_sound) {
    report_damage(offset, formatted("the name with id %u, kind %u, category %u and %u bytes is impossible", fixed.id,
                               static_cast<unsigned>(fixed.kind), static_cast<unsigned>(fixed.category), fixed.name_bytes));
    return;
  }
  if (fixed.id >= names_.size()) names_.resize(fixed.id + 1);
  Name& name = names_[fixed.id];
  std::string text_of_name(reinterpret_cast<const char*>(entry + sizeof fixed), fixed.name_bytes);
  if (name.kind != NameKind{} && (name.kind != fixed.kind || name.category != fixed.category || name.text != text_of_name)) {
    report_damage(offset, formatted("id %u names two things", fixed.id));
    return;
  }
  name = {fixed.kind, fixed.category, std::move(text_of_name)};
}

}  // namespace rlscope
