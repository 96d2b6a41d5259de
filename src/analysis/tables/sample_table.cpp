// Adds up samples; of each iteration's, in order of time, it keeps the last tenth, and of all the longest.
#include "sample_table.h"

#include <algorithm>
#include <tuple>

namespace rlscope {

void SampleTable::Sums::add(const Sums& others) {
  count += others.count;
  discarded += others.discarded;
  tokens += others.tokens;
  discarded_tokens += others.discarded_tokens;
  oldest_version = std::min(oldest_version, others.oldest_version);
  newest_version = std::max(newest_version, others.newest_version);
  staleness += others.staleness;
  most_staleness = std::max(most_staleness, others.most_staleness);
  queue_ticks += others.queue_ticks;
  elapsed.add(others.elapsed);
}

void SampleTable::add(const SampleEnd& sample, uint64_t now, uint64_t worked_ticks) {
  newest_version_ = std::max(newest_version_, sample.version);
  Sums one;
  one.count = 1;
  one.discarded = sample.is_discarded;
  one.tokens = sample.tokens;
  one.discarded_tokens = sample.is_discarded ? sample.tokens : 0;
  one.oldest_version = one.newest_version = sample.version;
  one.staleness = one.most_staleness = newest_version_ - sample.version;
  if (sample.elapsed_ticks) one.elapsed.add(sample.elapsed_ticks);
  if (sample.is_of_task) one.queue_ticks = sample.elapsed_ticks - sample.working_ticks;
  sums_[sample.name].add(one);
  SweptSampleSpan span{.start_ticks = now - std::min(now, sample.elapsed_ticks),
                       .end_ticks = now,
                       .queue_ticks = one.queue_ticks,
                       .version = sample.version,
                       .staleness = one.staleness,
                       .tokens = sample.tokens,
                       .is_discarded = sample.is_discarded};
  keep_if_long({sample.name, span});

  samples_++;
  last_.push_back({now, worked_ticks});
  uint64_t rank = (9 * samples_ + 9) / 10;  // counted from 1: with it, 90 % are complete
  while (last_.size() > samples_ - rank + 1) last_.pop_front();
}

void SampleTable::keep_if_long(const Kept& sample) {
  if (kept_.size() < most_kept_) {
    kept_.push_back(sample);
    if (kept_.size() == most_kept_) std::make_heap(kept_.begin(), kept_.end(), is_longer);
  } else if (most_kept_ && is_longer(sample, kept_.front())) {
    std::pop_heap(kept_.begin(), kept_.end(), is_longer);
    kept_.back() = sample;
    std::push_heap(kept_.begin(), kept_.end(), is_longer);
  }
}

std::vector<SweptSampleSpan> SampleTable::spans(const std::vector<Name>& names) const {
  std::vector<SweptSampleSpan> found;
  for (const Kept& sample : kept_) {
    found.push_back(sample.span);
    found.back().name = names[sample.name].text;
  }
  std::sort(found.begin(), found.end(), [](const SweptSampleSpan& left, const SweptSampleSpan& right) {
    return std::tuple(left.start_ticks, left.end_ticks) < std::tuple(right.start_ticks, right.end_ticks);
  });
  return found;
}

void SampleTable::report_progress() {
  if (samples_) {
    const Completion &first = last_.front(), &last = last_.back();
    tails_.push_back({.reports = reports_,
                      .samples = samples_,
                      .start_ticks = first.ticks,
                      .end_ticks = last.ticks,
                      .worked_ticks = last.worked_ticks - first.worked_ticks});
    samples_ = 0;
    last_.clear();
  }
  reports_++;
}

std::vector<SweptSampleTail> SampleTable::tails() {
  report_progress();
  return std::move(tails_);
}

std::vector<SweptSample> SampleTable::rows(const std::vector<Name>& names) const {
  std::map<std::string_view, Sums> merged;  // two ids can have one name
  for (const auto& [id, sums] : sums_) merged[names[id].text].add(sums);
  std::vector<SweptSample> rows;
  for (const auto& [name, sums] : merged) {
    const Lengths& elapsed = sums.elapsed;
    rows.push_back({.name = name,
                    .complete = sums.count,
                    .discarded = sums.discarded,
                    .tokens = sums.tokens,
                    .discarded_tokens = sums.discarded_tokens,
                    .oldest_version = sums.oldest_version,
                    .newest_version = sums.newest_version,
                    .staleness = sums.staleness,
                    .most_staleness = sums.most_staleness,
                    .timed = elapsed.count(),
                    .elapsed_ticks = elapsed.ticks(),
                    .median_ticks = elapsed.percentile(50),
                    .p99_ticks = elapsed.percentile(99),
                    .longest_ticks = elapsed.longest(),
                    .queue_ticks = sums.queue_ticks});
  }
  return rows;
}

}  // namespace rlscope
