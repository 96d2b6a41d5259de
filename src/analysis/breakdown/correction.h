// Takes out of a process's time what recording added to it, by the costs of a calibration. docs/calibration.md states
// the rules.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "breakdown_cells.h"
#include "event_costs.h"
#include "trace_file.h"

namespace rlscope {

// What a thread was charged for its events and has not yet run down.
struct Debt {
  OverheadParts owed{};
  uint64_t run_down_until = 0;
};

class Correction {
 public:
  explicit Correction(const CostTable& costs) : costs_(costs) {}

  // To be called again when the catalog has grown.
  void learn_names(const std::vector<Name>& names);

  // A begin or end record at `now`: the thread spends from here on what recording it takes.
  void charge_begin(Debt& debt, uint32_t id, uint64_t now) { charge(debt, cost(id).inside, now); }
  void charge_end(Debt& debt, uint32_t id, uint64_t now) { charge(debt, cost(id).outside, now); }
  void charge_ticks(Debt& debt, uint64_t ticks, uint64_t now);

  // From `from` to `to` the thread with this debt owns the process's time and does not wait. The time counts in `place`;
  // where a device works it becomes time of the device alone, in phase of `place` and the scope given.
  void run_down(Debt& owner, uint64_t from, uint64_t to, BreakdownPlace place, Scope scope_of_device);
  // The thread's last record was read: what it still owes fits nowhere.
  void settle(Debt& debt);

  using Sums = std::map<BreakdownPlace, OverheadParts>;
  const Sums& removed() const { return removed_; }  // less of these
  const Sums& turned() const { return turned_; }    // more of these, as time of a device alone
  const OverheadParts& uncorrectable() const { return uncorrectable_; }
  // The most exact key that a cost of events of this name may have.
  static std::string key_of(const Name& name);
  bool is_calibrated(uint32_t id) const { return id < by_id_.size() && by_id_[id] != nullptr; }

 private:
  const EventCost& cost(uint32_t id) const { return is_calibrated(id) ? *by_id_[id] : kNothing; }
  const EventCost* find(const Name& name) const;
  void charge(Debt& debt, const OverheadParts& parts, uint64_t now);
  void hide(Debt& debt, uint64_t ticks);
  OverheadParts& removed_in(const BreakdownPlace& place);

  static const EventCost kNothing;

  const CostTable& costs_;
  std::vector<const EventCost*> by_id_;
  Sums removed_, turned_;
  uint32_t phase_ = 0;  // of the pointers below
  Scope scope_ = 0;
  std::array<OverheadParts*, kCells> removed_here_{};
  OverheadParts uncorrectable_{};
};

}  // namespace rlscope
