// Free space inside a trace file: how it is marked, and how chunks are moved into it so that the file gets shorter.
#pragma once
#include <cstdint>
#include <vector>

#include "trace_format.h"

namespace rlscope {

struct Region {
  uint64_t offset;
  uint32_t bytes;
};

// The header of a chunk that holds nothing.
ChunkHeader free_space(uint32_t bytes);
// Marks the region as such in the file. Returns an errno, 0 for success.
int mark_free(int fd, const Region& region);

// Moves each closed chunk, in the order of the file, into the foremost free region before it that has room, so that the
// free space behind them grows. Only the last 2 MiB of chunks move, and none after an error. Returns where the file of
// `end` bytes can be cut. A process that is killed at any moment leaves each chunk once, or one of them twice and the same.
uint64_t compact(int fd, std::vector<Region> closed, const std::vector<Region>& free, uint64_t end);

}  // namespace rlscope
