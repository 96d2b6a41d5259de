// Moving chunks within a trace file that is about to be finished.
#include "free_space.h"

#include <algorithm>
#include <iterator>

#include "positioned_io.h"

namespace rlscope {
namespace {

constexpr uint64_t kMostMovedBytes = 2 << 20;  // copying the smallest chunks takes 2 ms, by which a program ends later

uint64_t end_of(const Region& region) { return region.offset + region.bytes; }

// The header comes last: until then the region is free space, and so it stays after an error.
int copy_chunk(int fd, const Region& chunk, uint64_t to) {
  uint8_t block[4096];
  for (uint32_t at = sizeof(ChunkHeader), bytes; at < chunk.bytes; at += bytes) {
    bytes = std::min<uint32_t>(sizeof block, chunk.bytes - at);
    if (int error = read_at(fd, block, bytes, chunk.offset + at)) return error;
    if (int error = write_at(fd, block, bytes, to + at)) return error;
  }
  if (int error = read_at(fd, block, sizeof(ChunkHeader), chunk.offset)) return error;
  return write_at(fd, block, sizeof(ChunkHeader), to);
}

// The region may be several in the file, which are made one first.
int move_chunk(int fd, const Region& chunk, const Region& hole) {
  Region rest{hole.offset + chunk.bytes, hole.bytes - chunk.bytes};
  int error = mark_free(fd, hole);
  if (!error && rest.bytes) error = mark_free(fd, rest);
  if (!error) error = copy_chunk(fd, chunk, hole.offset);
  if (error) return error;
  error = mark_free(fd, chunk);
  if (error) mark_free(fd, hole);  // a finished file has no chunk twice
  return error;
}

bool is_before(const Region& a, const Region& b) { return a.offset < b.offset; }

bool touch(const Region& a, const Region& b) {
  return end_of(a) == b.offset && uint64_t{a.bytes} + b.bytes <= UINT32_MAX;
}

// Keeps the regions in order, and makes one of those that touch.
void add(std::vector<Region>& free, Region region) {
  auto next = std::lower_bound(free.begin(), free.end(), region, is_before);
  if (next != free.end() && touch(region, *next)) {
    region.bytes += next->bytes;
    next = free.erase(next);
  }
  if (next != free.begin() && touch(*std::prev(next), region)) std::prev(next)->bytes += region.bytes;
  else free.insert(next, region);
}

// The first of the chunks at the end of the file that together are few enough bytes to be moved.
std::vector<Region>::const_iterator first_to_move(const std::vector<Region>& closed) {
  auto first = closed.end();
  for (uint64_t bytes = 0; first != closed.begin(); --first) {
    bytes += std::prev(first)->bytes;
    if (bytes > kMostMovedBytes) break;
  }
  return first;
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

uint64_t compact(int fd, std::vector<Region> closed, const std::vector<Region>& free, uint64_t end) {
  std::sort(closed.begin(), closed.end(), is_before);
  std::vector<Region> holes;
  for (const Region& region : free) add(holes, region);
  for (auto chunk = first_to_move(closed); chunk != closed.end(); ++chunk) {
    auto has_room = [&](const Region& hole) { return hole.bytes >= chunk->bytes; };
    auto hole = std::find_if(holes.begin(), holes.end(), has_room);
    if (hole == holes.end() || is_before(*chunk, *hole)) continue;
    if (move_chunk(fd, *chunk, *hole) != 0) break;
    *hole = {hole->offset + chunk->bytes, hole->bytes - chunk->bytes};
    if (hole->bytes == 0) holes.erase(hole);
    add(holes, *chunk);
  }
  for (; !holes.empty() && end_of(holes.back()) == end; holes.pop_back()) end = holes.back().offset;
  return end;
}

}  // namespace rlscope
