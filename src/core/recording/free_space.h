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

// Moves closed chunks from the end of a file of `end` bytes into free regions before them, the foremost that has room.
// It stops at a chunk that fits nowhere, at one that is neither closed nor free, after a few MiB, and at an error.
// Returns where the file can be cut. A process that is killed at any moment leaves each chunk once, or twice the same.
uint64_t compact(int fd, std::vector<Region> closed, std::vector<Region> free, uint64_t end);

}  // namespace rlscope
