// For how long threads were in operations, and on a CPU meanwhile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"

namespace rlscope {

// What a thread was in since its CPU time was read last, of which it is not known yet for how long it was on a CPU.
class UnreadTime {
 public:
  struct Part {
    uint32_t phase;
    Scope scope;
    uint64_t begins;     // of operations
    uint64_t ticks;
    uint64_t ran_ticks;  // of these, in no wait that is known, and with a core as far as is known
  };

  // It begins here, in this phase and scope.
  void start(uint32_t phase, Scope scope, uint64_t now) {
    since_ = now;
    enter(phase, scope);
  }
  uint64_t since() const { return since_; }  // up to here it is in parts
  // Up to now the thread was where it is, and ran for so many ticks of that.
  void pass(uint64_t now, uint64_t ran_ticks) {
    parts_[place_].ticks += now - since_;
    parts_[place_].ran_ticks += ran_ticks;
    since_ = now;
  }
  void enter(uint32_t phase, Scope scope);
  void begin_operation() { parts_[place_].begins++; }
  const std::vector<Part>& parts() const { return parts_; }
  const Part& present() const { return parts_[place_]; }
  // All is read.
  void clear();

 private:
  uint64_t since_ = 0;
  size_t place_ = 0;
  std::vector<Part> parts_ = std::vector<Part>(1);  // never empty
};

class CpuTimeTable {
 public:
  // The thread was on a CPU for so long since the last reading. Each part has of it what it has of the ticks in which the
  // thread ran, and the present one the few nanoseconds that are left.
  void read(UnreadTime& time, uint64_t cpu_ns);
  // While the tables have their rows.
  std::vector<SweptCpuTime> rows(const SweepTables& tables) const;

 private:
  struct Sums {
    uint64_t begins = 0;
    uint64_t ticks = 0;
    uint64_t cpu_ns = 0;
  };

  std::map<std::pair<uint32_t, Scope>, Sums> sums_;
};

}  // namespace rlscope
