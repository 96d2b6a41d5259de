// The communication of one process's devices, piece by piece, and when it was all that a device did: for those who join it
// with that of other processes.
#pragma once
#include <cstdint>
#include <vector>

#include "trace_file.h"

namespace rlscope {

struct CommunicationIntervals {
  // One entry of each per piece, in order of its start.
  std::vector<uint64_t> starts;  // in ticks
  std::vector<uint64_t> ends;
  std::vector<uint32_t> devices;  // CUDA's numbers in the process
  std::vector<uint32_t> queues;
  std::vector<uint32_t> names;  // ids in the file's catalog
  // One entry of each per interval in which a device did nothing else. Of several pieces at once, the earliest has it.
  std::vector<uint64_t> exposed_starts;
  std::vector<uint64_t> exposed_ends;
  std::vector<uint32_t> exposed_pieces;  // places in the columns above
};

// Clipped to the process's life, from `start_ticks` to `end_ticks`; what takes no time there is left out.
CommunicationIntervals communication_intervals(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks);

}  // namespace rlscope
