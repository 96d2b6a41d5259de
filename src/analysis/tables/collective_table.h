// The calls of communicators, one after the other: matching them needs the other processes, so none is summed here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "record_batch.h"

namespace rlscope {

// One entry of each column per call, in the order in which calls were over.
struct CollectiveTable {
  std::vector<uint32_t> names;  // ids in the file's catalog
  std::vector<uint64_t> sequences;
  std::vector<uint64_t> bytes;
  std::vector<uint64_t> calls;  // when it was called, in ticks
  std::vector<uint64_t> waits;  // since when its thread waited for it
  std::vector<uint64_t> ends;   // 0: not known

  void add(const CollectiveEnd& collective, uint64_t now) {
    names.push_back(collective.name);
    sequences.push_back(collective.sequence);
    bytes.push_back(collective.bytes);
    calls.push_back(now - std::min(collective.elapsed_ticks, now));
    waits.push_back(now - std::min(collective.waited_ticks, now));
    ends.push_back(collective.is_unwaited ? 0 : now);
  }
};

}  // namespace rlscope
