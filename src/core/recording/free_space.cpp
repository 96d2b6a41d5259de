// Moving chunks within a trace file that is about to be finished.
#include "free_space.h"

#include <algorithm>

#include "positioned_io.h"

namespace rlscope {
namespace {

constexpr uint64_t kMostMovedBytes = 8 << 20;  // some milliseconds, by which a program ends later

uint64_t end_of(const Region& region) { return region.offset + region.bytes; }

// The header comes last: until then the region is free space, and so it stays after an error.
int copy_chunk(int fd, const Region& chunk, uint64_t to) {
  alignas(ChunkHeader) uint8_t page[kChunkAlignment];
  for (uint32_t at = chunk.bytes; at > 0;) {
    at -= kChunkAlignment;
    uint32_t kept = at == 0 ? sizeof(ChunkHeader) : 0;
    if (int error = read_at(fd, page, sizeof page, chunk.offset + at)) return error;
    if (int error = write_at(fd, page + kept, sizeof page - kept, to + at + kept)) return error;
  }
  return write_at(fd, page, sizeof(ChunkHeader), to);
}

int move_chunk(int fd, const Region& chunk, const Region& hole) {
  Region rest{hole.offset + chunk.bytes, hole.bytes - chunk.bytes};
  int error = rest.bytes ? mark_free(fd, rest) : 0;
  if (!error) error = copy_chunk(fd, chunk, hole.offset);
  if (error) return error;
  error = mark_free(fd, chunk);
  if (error) mark_free(fd, hole);  // a finished file has no chunk twice
  return error;
}

}  // namespace

ChunkHeader free_space(uint32_t bytes) {
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.kind = ChunkKind::kFree;
  header.chunk_bytes = bytes;
  header.payload_offset = sizeof header;
  header.stream = kNoStream;
  return header;
}

int mark_free(int fd, const Region& region) {
  ChunkHeader header = free_space(region.bytes);
  return write_at(fd, &header, sizeof header, region.offset);
}

uint64_t compact(int fd, std::vector<Region> closed, std::vector<Region> free, uint64_t end) {
  auto by_offset = [](const Region& a, const Region& b) { return a.offset < b.offset; };
  std::sort(closed.begin(), closed.end(), by_offset);
  std::sort(free.begin(), free.end(), by_offset);
  for (uint64_t moved = 0;;) {
    if (!free.empty() && end_of(free.back()) == end) {
      end = free.back().offset;
      free.pop_back();
      continue;
    }
    if (closed.empty() || end_of(closed.back()) != end) return end;
    Region chunk = closed.back();
    auto has_room = [&](const Region& region) { return region.bytes >= chunk.bytes; };
    auto hole = std::find_if(free.begin(), free.end(), has_room);
    moved += chunk.bytes;
    if (hole == free.end() || moved > kMostMovedBytes || move_chunk(fd, chunk, *hole) != 0) return end;
    closed.pop_back();
    end = chunk.offset;
    *hole = {hole->offset + chunk.bytes, hole->bytes - chunk.bytes};
    if (hole->bytes == 0) free.erase(hole);
  }
}

}  // namespace rlscope
