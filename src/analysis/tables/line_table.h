// What the process did where stacks were seen, and so which lines of Python had its time. Of a process that was in Python for
// 7 ms since a stack of the same operation was last seen, the stack that is seen now gets these 7 ms.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "trace_file.h"

namespace rlscope {

class LineTable {
 public:
  // A stack was seen while the process was in Python, which has this row of the breakdown so far in this phase and scope.
  void see(uint32_t phase, Scope scope, const Row& row, uint32_t stack, const SweepTables& tables);
  // One was seen in a native call, which stands for so many ticks.
  void see_call(uint32_t phase, Scope scope, uint32_t function, uint64_t ticks, uint32_t stack, const SweepTables& tables);
  void count_torn() { torn_++; }
  uint64_t torn() const { return torn_; }
  // Those with most time first. To be asked for while the tables have their rows.
  std::vector<SweptLine> rows(const TraceFile& file, const SweepTables& tables) const;
  // The same by open functions, without what is of no stack.
  std::vector<SweptFrame> frames(const TraceFile& file, const SweepTables& tables) const;
  // All that was seen of each stack, and the stacks themselves.
  void write_stacks(const TraceFile& file, const SweepTables& tables, SweepResult& result) const;

 private:
  struct Place {
    Scope scope;
    uint32_t stack;
    uint32_t phase;
    uint8_t category;
    uint32_t function;  // the native one in which it was seen, by its name; 0: none

    auto key() const { return std::tie(scope, stack, phase, category, function); }
    bool operator<(const Place& other) const { return key() < other.key(); }
  };
  struct Sum {
    uint64_t stacks = 0;
    uint64_t ticks = 0;
    LoopTicks stacks_in_loop, ticks_in_loop;  // of these
  };
  struct Given {
    uint64_t python = 0;
    uint64_t no_core = 0;
  };

  void add(const Place& place, uint64_t ticks, const SweepTables& tables);

  std::map<std::pair<uint32_t, Scope>, Given> given_;  // ticks of rows of the breakdown that stacks got
  std::map<Place, Sum> sums_;
  uint64_t torn_ = 0;
};

}  // namespace rlscope
