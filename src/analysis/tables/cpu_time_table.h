// For how long threads were in operations, and on a CPU meanwhile.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"

namespace rlscope {

// What a thread was in since its CPU time was read last, of which it is not known yet for how long it was on a CPU.
struct UnreadTime {
  struct Part {
    uint32_t phase;
    Scope scope;
    uint64_t begins;     // of operations
    uint64_t ticks;
    uint64_t ran_ticks;  // of these, in no wait that is known, and with a core as far as is known
  };
  uint64_t since = 0;  // up to here it is in parts
  std::vector<Part> parts;
};

class CpuTimeTable {
 public:
  // Up to now the thread was in this phase and scope, and ran for so many ticks of that.
  void pass(UnreadTime& time, uint32_t phase, Scope scope, uint64_t now, uint64_t ran_ticks);
  void begin(UnreadTime& time, uint32_t phase, Scope scope) { part_of(time, phase, scope).begins++; }
  // It is in this phase and scope, and was on a CPU for so long since the last reading. Each part has of it what it has of
  // the ticks in which the thread ran.
  void read(UnreadTime& time, uint32_t phase, Scope scope, uint64_t cpu_ns);
  // While the tables have their rows.
  std::vector<SweptCpuTime> rows(const SweepTables& tables) const;

 private:
  struct Sums {
    uint64_t begins = 0;
    uint64_t ticks = 0;
    uint64_t cpu_ns = 0;
  };

  static UnreadTime::Part& part_of(UnreadTime& time, uint32_t phase, Scope scope);

  std::map<std::pair<uint32_t, Scope>, Sums> sums_;
};

}  // namespace rlscope
