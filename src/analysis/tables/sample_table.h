// The samples of rollouts: how many, how long each was made, how long the last tenth of an iteration's kept the others, and
// the longest ones by themselves.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "lengths.h"
#include "record_batch.h"
#include "trace_file.h"

namespace rlscope {

// The samples of one name.
struct SampleRow {
  std::string_view name;  // in the file's names
  uint64_t count;
  uint64_t discarded;  // of these
  uint64_t tokens;
  uint64_t discarded_tokens;  // of these
  uint64_t oldest_version;
  uint64_t newest_version;
  // How far the newest version that any report had named was ahead of a sample's own, summed, and at most.
  uint64_t staleness;
  uint64_t most_staleness;
  uint64_t timed;  // of how many it is known when they were begun
  uint64_t elapsed_ticks;  // of these, as all below
  uint64_t median_ticks;   // rounded down to eight binary digits, and the next
  uint64_t p99_ticks;
  uint64_t longest_ticks;
  uint64_t queue_ticks;  // of those of tasks, in which these were in no operation that encloses no other
};

// From when 90 % of an iteration's samples were complete until all were.
struct SampleTail {
  uint64_t reports;  // of progress, before it
  uint64_t samples;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t worked_ticks;  // of these, a device worked
};

// With detail, so many samples are kept by themselves.
constexpr size_t kMostSamples = 1 << 13;

// One sample; what is not known to have begun takes no time.
struct SampleSpan {
  uint32_t id;            // of its name
  std::string_view name;  // in the file's names, once all are known
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t queue_ticks;  // as in SampleRow
  uint64_t version;
  uint64_t staleness;
  uint64_t tokens;
  bool is_discarded;

  uint64_t ticks() const { return end_ticks - start_ticks; }
};

class SampleTable {
 public:
  // From now on, so many samples that took longest are kept by themselves.
  void keep(size_t most) { most_kept_ = most; }
  // A sample is complete, `worked_ticks` of the devices' time after the process's start.
  void add(const SampleEnd& sample, uint64_t now, uint64_t worked_ticks);
  // What follows belongs to another iteration.
  void report_progress();
  // By name, in alphabetical order.
  std::vector<SampleRow> rows(const std::vector<Name>& names) const;
  // Those that are kept, in order of their begins.
  std::vector<SampleSpan> spans(const std::vector<Name>& names) const;
  // After the last sample; by iteration.
  std::vector<SampleTail> tails();

 private:
  struct Sums {
    uint64_t count = 0, discarded = 0, tokens = 0, discarded_tokens = 0;
    uint64_t oldest_version = ~uint64_t{0}, newest_version = 0;
    uint64_t staleness = 0, most_staleness = 0;
    uint64_t queue_ticks = 0;
    Lengths elapsed;

    void add(const Sums& others);
  };
  void keep_if_long(const SampleSpan& sample);

  struct Completion {
    uint64_t ticks;
    uint64_t worked_ticks;
  };

  std::map<uint32_t, Sums> sums_;  // by name id
  uint64_t newest_version_ = 0;
  uint64_t reports_ = 0;
  uint64_t samples_ = 0;         // of this iteration
  std::deque<Completion> last_;  // from the one with which 90 % of these are complete: a tenth of them
  std::vector<SampleTail> tails_;
  size_t most_kept_ = 0;
  std::vector<SampleSpan> kept_;  // a heap with the shortest in front, once it is full
};

}  // namespace rlscope
