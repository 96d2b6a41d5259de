// The phase of a process, rule 6 of docs/analysis.md, and for how long it was `evaluation`.
#pragma once
#include <cstdint>
#include <set>

#include "sweep_tables.h"

namespace rlscope {

class Phases {
 public:
  explicit Phases(SweepTables& tables) : tables_(tables) {}

  uint32_t number() const { return number_; }  // of the open one that began last; 0: none is
  const OpenPhases& open() const { return open_; }  // in the order in which they began
  // Returns the key with which it is ended.
  uint64_t begin(const OpenPhase& phase, uint64_t now) {
    open_[begun_] = phase;
    tables_.begin_phase(phase.number, now);
    change(now);
    return begun_++;
  }
  void end(uint64_t key, uint64_t now) {
    tables_.end_phase(open_.at(key).number, now);
    open_.erase(key);
    change(now);
  }
  // Ticks in the phase `evaluation` so far.
  uint64_t evaluated(uint64_t now) const { return evaluated_ + (tables_.evaluates() ? now - since_ : 0); }
  void start_at(uint64_t now) {
    tables_.start_at(now, open_);
    evaluated_ = 0;
    since_ = now;
  }
  // Of phases that are open on one thread, the outer one began first. On several threads all that are open must have been
  // seen to begin: the streams of which some were not.
  std::set<uint32_t> streams_of_unknown_order() const {
    std::set<uint32_t> streams, guessed;
    for (const auto& [key, phase] : open_) {
      streams.insert(phase.stream);
      if (!phase.is_recorded) guessed.insert(phase.stream);
    }
    return streams.size() < 2 ? std::set<uint32_t>() : guessed;
  }

 private:
  void change(uint64_t now) {
    number_ = open_.empty() ? 0 : open_.rbegin()->second.number;
    evaluated_ = evaluated(now);
    since_ = now;
    tables_.enter_phase(number_);
  }

  SweepTables& tables_;
  OpenPhases open_;
  uint64_t begun_ = 0;
  uint32_t number_ = 0;
  uint64_t evaluated_ = 0, since_ = 0;  // up to the last change
};

}  // namespace rlscope
