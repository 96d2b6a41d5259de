// How long the operations of coroutines and generators were open, and ran.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lengths.h"
#include "record_batch.h"
#include "trace_file.h"

namespace rlscope {

struct TaskRow {
  std::string_view operation;  // in the file's names
  uint64_t count;
  uint64_t running_ticks;
  uint64_t elapsed_ticks;
  // Half and 99 % of the operations were open no longer than this, rounded down to eight binary digits.
  uint64_t median_ticks;
  uint64_t p99_ticks;
  uint64_t longest_ticks;
};

class TaskTable {
 public:
  void add(const TaskEnd& task);
  // By operation, in alphabetical order.
  std::vector<TaskRow> rows(const std::vector<Name>& names) const;

 private:
  struct Sums {
    uint64_t running_ticks = 0;
    Lengths elapsed;
  };

  std::map<uint32_t, Sums> sums_;  // by name id
};

}  // namespace rlscope
