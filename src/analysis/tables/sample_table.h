// The samples of rollouts: how many, how long each was made, how long the last tenth of an iteration's kept the others, and
// the longest ones by themselves.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "lengths.h"
#include "record_batch.h"
#include "swept_rows.h"
#include "trace_file.h"

namespace rlscope {

// With detail, so many samples are kept by themselves.
constexpr size_t kMostSamples = 1 << 13;

class SampleTable {
 public:
  // From now on, so many samples that took longest are kept by themselves.
  void keep(size_t most) { most_kept_ = most; }
  // A sample is complete, `worked_ticks` of the devices' time after the process's start.
  void add(const SampleEnd& sample, uint64_t now, uint64_t worked_ticks);
  // What follows belongs to another iteration.
  void report_progress();
  // By name, in alphabetical order.
  std::vector<SweptSample> rows(const std::vector<Name>& names) const;
  // Those that are kept, in order of their begins.
  std::vector<SweptSampleSpan> spans(const std::vector<Name>& names) const;
  // After the last sample; by iteration.
  std::vector<SweptSampleTail> tails();

 private:
  struct Sums {
    uint64_t count = 0, discarded = 0, tokens = 0, discarded_tokens = 0;
    uint64_t oldest_version = ~uint64_t{0}, newest_version = 0;
    uint64_t staleness = 0, most_staleness = 0;
    uint64_t queue_ticks = 0;
    Lengths elapsed;

    void add(const Sums& others);
  };
  struct Kept {
    uint32_t name;         // its id: not all names are known yet
    SweptSampleSpan span;  // what is not known to have begun takes no time

    uint64_t ticks() const { return span.end_ticks - span.start_ticks; }
  };
  static bool is_longer(const Kept& left, const Kept& right) { return left.ticks() > right.ticks(); }
  void keep_if_long(const Kept& sample);

  struct Completion {
    uint64_t ticks;
    uint64_t worked_ticks;
  };

  std::map<uint32_t, Sums> sums_;  // by name id
  uint64_t newest_version_ = 0;
  uint64_t reports_ = 0;
  uint64_t samples_ = 0;         // of this iteration
  std::deque<Completion> last_;  // from the one with which 90 % of these are complete: a tenth of them
  std::vector<SweptSampleTail> tails_;
  size_t most_kept_ = 0;
  std::vector<Kept> kept_;  // a heap with the shortest in front, once it is full
};

}  // namespace rlscope
