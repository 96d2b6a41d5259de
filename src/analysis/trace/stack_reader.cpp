// Records from chunks of stacks, which may be damaged as any others.
#include "stack_reader.h"

#include <string>

namespace rlscope {
namespace {

constexpr size_t kWindowBytes = 16 << 10;
constexpr size_t kNumbers = 3;

}  // namespace

StackReader::StackReader(TraceFile& file) : ChunkReader(file, kWindowBytes) {}

bool StackReader::open_chunk() {
  while (next_chunk_ < file_.stack_chunks().size()) {
    const ChunkPlace& place = file_.stack_chunks()[next_chunk_++];
    // The header again, not the one that was indexed: since then the chunk may have been closed.
    ChunkHeader header{};
    file_.read(place.offset, &header, sizeof header);
    std::string wrong = file_.check_chunk(header);
    if (wrong.empty() && !open_payload(place, header)) {
      wrong = "the checksum of chunk " + std::to_string(place.sequence) + " of stacks does not match";
    }
    if (wrong.empty()) {
      seen_.ticks = header.base_ticks;
      return true;
    }
    file_.report_damage(place.offset, wrong);
  }
  payload_end_ = 0;
  return false;
}

bool StackReader::is_known(uint64_t stack) const {
  return stack == kTornStack || (stack < file_.stacks().size() && file_.stacks()[stack].id != 0);
}

bool StackReader::next() {
  for (;;) {
    if (payload_end_ == 0 && !open_chunk()) return false;
    if (!reaches_record(kNumbers * kMaxVarintBytes)) continue;
    const uint8_t* cursor = cursor_;
    uint64_t numbers[kNumbers] = {};
    bool is_sound = true;
    for (size_t i = 0; i < kNumbers && is_sound; i++) {
      is_sound = cursor < window_end_ && (numbers[i] = decode_varint(cursor)) != 0 && cursor <= window_end_;
    }
    uint64_t stack = numbers[2] - 1;
    // A process that still records may have added it since.
    if (is_sound && !is_known(stack) && !catalog_is_final_) {
      file_.reload_catalog();
      catalog_is_final_ = !is_known(stack);
    }
    if (!is_sound || seen_.ticks + numbers[0] - 1 > file_.latest_ticks() || !is_known(stack)) {
      reject(is_sound ? "the stack " + std::to_string(stack) + " is not in the catalog, or lies years after the start"
                      : "no record of a stack starts here");
      continue;
    }
    seen_ = {seen_.ticks + numbers[0] - 1, numbers[1] - 1, static_cast<uint32_t>(stack)};
    cursor_ = cursor;
    return true;
  }
}

}  // namespace rlscope
