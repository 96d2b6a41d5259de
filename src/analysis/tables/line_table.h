// Which lines of Python had the process's time. Of a process that was in Python for 7 ms since a stack of the same operation was
// last seen, the stack that is seen now gets these 7 ms.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "trace_file.h"

namespace rlscope {

class LineTable {
 public:
  // A stack was seen while the process was in Python, for so many ticks so far in this phase and scope.
  void see(uint32_t phase, Scope scope, uint64_t python_ticks, uint32_t stack);
  void count_torn() { torn_++; }
  uint64_t torn() const { return torn_; }
  // Those with most time first. To be asked for while the tables have their rows.
  std::vector<SweptLine> rows(const TraceFile& file, const SweepTables& tables) const;
  // The same by open functions, without what is of no stack.
  std::vector<SweptFrame> frames(const TraceFile& file, const SweepTables& tables) const;

 private:
  struct Sum {
    uint64_t stacks = 0;
    uint64_t ticks = 0;
  };

  std::map<std::pair<uint32_t, Scope>, uint64_t> given_;  // ticks of rows of the breakdown that stacks got
  std::map<std::pair<Scope, uint32_t>, Sum> sums_;        // by scope and stack
  uint64_t torn_ = 0;
};

}  // namespace rlscope
