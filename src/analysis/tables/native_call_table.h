// In which native calls threads waited for a device, and which lines of Python made the native calls in which a stack was seen.
//
// Stacks are seen once a period, so a call of half a period is seen half the time, and one of several periods always. It counts
// for as many calls as are needed for one to be seen: the call of half a period for two.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "trace_file.h"

namespace rlscope {

// Calls of the CUDA function `wait` inside calls of `function`, both name ids; the function is 0 where none was open.
struct SyncPlace {
  Scope scope;
  uint32_t function;
  uint32_t wait;

  bool operator<(const SyncPlace& other) const {
    return std::tie(scope, function, wait) < std::tie(other.scope, other.function, other.wait);
  }
};

struct SyncSum {
  uint64_t calls = 0;  // that began
  uint64_t ticks = 0;
  std::map<uint32_t, uint64_t> stacks;  // of the calls around it in which one was seen, how many had it
};

class NativeCallTable {
 public:
  explicit NativeCallTable(const FileHeader& header);

  // Stays where it is.
  SyncSum& sync(const SyncPlace& place) { return syncs_[place]; }
  // A call is over that took so many ticks, and in which the stack was seen; `sync`: it waited there; null: for no device.
  void add_call(Scope scope, uint32_t function, uint32_t stack, uint64_t ticks, SyncSum* sync);
  // For how long all calls took of which one was seen that took so many ticks.
  uint64_t stands_for(uint64_t ticks) const { return std::max(ticks, static_cast<uint64_t>(period_ticks_)); }
  size_t rows() const { return syncs_.size() + sites_.size(); }
  // Begins again with nothing; sums stay where they are.
  void clear();

  // Those with most time first.
  std::vector<SweptSyncPoint> sync_points(const TraceFile& file, const SweepTables& tables) const;
  // Of each function in an operation, the lines with most calls first.
  std::vector<SweptCallSite> call_sites(const TraceFile& file, const SweepTables& tables) const;

 private:
  struct Site {
    Scope scope;
    uint32_t function;
    uint32_t stack;

    bool operator<(const Site& other) const {
      return std::tie(scope, function, stack) < std::tie(other.scope, other.function, other.stack);
    }
  };
  struct SiteSum {
    uint64_t stacks = 0;
    uint64_t waiting_stacks = 0;
    double calls = 0;
    double ticks = 0;
  };

  double period_ticks_;
  std::map<SyncPlace, SyncSum> syncs_;
  std::map<Site, SiteSum> sites_;
};

}  // namespace rlscope
