// How long the operations of coroutines and generators were open, and ran.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "lengths.h"
#include "record_batch.h"
#include "swept_rows.h"
#include "trace_file.h"

namespace rlscope {

class TaskTable {
 public:
  void add(const TaskEnd& task);
  // By operation, in alphabetical order.
  std::vector<SweptTask> rows(const std::vector<Name>& names) const;

 private:
  struct Sums {
    uint64_t running_ticks = 0;
    Lengths elapsed;
  };

  std::map<uint32_t, Sums> sums_;  // by name id
};

}  // namespace rlscope
