// The debt of a thread: charged by its records, run down by the time that passes.
#include "correction.h"

#include <algorithm>

namespace rlscope {

const EventCost Correction::kNothing{};

std::string Correction::key_of(const Name& name) {
  if (name.kind == NameKind::kPhase) return "operation";
  if (name.kind == NameKind::kOperation) return "operation/" + name.text;
  bool is_cuda = name.category == Category::kCuda || name.category == Category::kCudaWait;
  return is_cuda ? "cuda/" + name.text : "boundary/" + name.text.substr(0, name.text.find('.'));
}

// That of the operation, library or CUDA call, else that of all of its kind; null: nobody measured it.
const EventCost* Correction::find(const Name& name) const {
  std::string key = key_of(name);
  for (const std::string& known : {key, key.substr(0, key.find('/'))}) {
    auto found = costs_.find(known);
    if (found != costs_.end()) return &found->second;
  }
  return nullptr;
}

void Correction::learn_names(const std::vector<Name>& names) {
  by_id_.resize(names.size());
  for (size_t id = 0; id < names.size(); id++) {
    bool is_event = names[id].kind != NameKind{} && names[id].kind != NameKind::kDeviceWork;
    if (is_event && !by_id_[id]) by_id_[id] = find(names[id]);
  }
}

void Correction::charge(Debt& debt, const OverheadParts& parts, uint64_t now) {
  hide(debt, now - debt.run_down_until);
  debt.run_down_until = now;
  for (size_t i = 0; i < kBounds; i++) debt.owed[i] += parts[i];
}

void Correction::charge_ticks(Debt& debt, uint64_t ticks, uint64_t now) {
  OverheadParts parts;
  parts.fill(ticks * kPartsPerTick);
  charge(debt, parts, now);
}

// The thread ran for so long while another one owned the time: its overhead passed beside that one's work.
void Correction::hide(Debt& debt, uint64_t ticks) {
  for (size_t i = 0; i < kBounds; i++) {
    uint64_t hidden = std::min(debt.owed[i], ticks * kPartsPerTick);
    debt.owed[i] -= hidden;
    uncorrectable_[i] += hidden;
  }
}

void Correction::run_down(Debt& owner, uint64_t from, uint64_t to, BreakdownPlace place, Scope scope_of_device) {
  hide(owner, from - owner.run_down_until);
  owner.run_down_until = to;
  if (*std::max_element(owner.owed.begin(), owner.owed.end()) == 0) return;
  OverheadParts& removed = removed_in(place);
  OverheadParts* turned = nullptr;
  if (place.cell >= kDeviceComputes) {
    auto cell = static_cast<uint8_t>(place.cell - place.cell % kCategories);
    turned = &turned_[{place.phase, scope_of_device, cell}];
  }
  for (size_t i = 0; i < kBounds; i++) {
    uint64_t parts = std::min(owner.owed[i], (to - from) * kPartsPerTick);
    owner.owed[i] -= parts;
    removed[i] += parts;
    if (turned) (*turned)[i] += parts;
  }
}

// Categories alternate, phase and scope seldom change.
OverheadParts& Correction::removed_in(const BreakdownPlace& place) {
  if (place.phase != phase_ || place.scope != scope_) {
    phase_ = place.phase;
    scope_ = place.scope;
    removed_here_.fill(nullptr);
  }
  OverheadParts*& found = removed_here_[place.cell];
  if (!found) found = &removed_[place];
  return *found;
}

void Correction::settle(Debt& debt) {
  for (size_t i = 0; i < kBounds; i++) uncorrectable_[i] += debt.owed[i];
  debt.owed = {};
}

}  // namespace rlscope
