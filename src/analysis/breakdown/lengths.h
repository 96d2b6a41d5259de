// How long things took, in memory that does not grow with their number.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>

namespace rlscope {

class Lengths {
 public:
  void add(uint64_t ticks) {
    count_++;
    ticks_ += ticks;
    longest_ = std::max(longest_, ticks);
    counts_[rounded_down(ticks)]++;
  }
  void add(const Lengths& others) {
    count_ += others.count_;
    ticks_ += others.ticks_;
    longest_ = std::max(longest_, others.longest_);
    for (const auto& [ticks, count] : others.counts_) counts_[ticks] += count;
  }

  uint64_t count() const { return count_; }
  uint64_t ticks() const { return ticks_; }
  uint64_t longest() const { return longest_; }
  // The smallest length that `percent` of all do not exceed, rounded down to eight binary digits.
  uint64_t percentile(uint64_t percent) const {
    uint64_t seen = 0;
    for (const auto& [ticks, count] : counts_) {
      seen += count;
      if (seen * 100 >= count_ * percent) return ticks;
    }
    return 0;
  }

 private:
  static uint64_t rounded_down(uint64_t value) {
    constexpr unsigned kDigits = 8;
    unsigned digits = 64 - static_cast<unsigned>(__builtin_clzll(value | 1));
    unsigned dropped = digits > kDigits ? digits - kDigits : 0;
    return value >> dropped << dropped;
  }

  uint64_t count_ = 0;
  uint64_t ticks_ = 0;
  uint64_t longest_ = 0;
  std::map<uint64_t, uint64_t> counts_;  // by ticks, rounded down: at most some thousands
};

}  // namespace rlscope
