// Hands each report to its table.
#include "reports.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace rlscope {

void Reports::add(const Progress& record, uint64_t now, uint64_t evaluated) {
  samples_.report_progress();
  memory_.report_progress();
  if (trainings_.empty() || record.is_baseline || record.timesteps < trainings_.back().last_timesteps) {
    SweptTraining& begun = trainings_.emplace_back();
    begun.first_ticks = now;
    begun.first_timesteps = record.timesteps;
    if (record.is_baseline) begun.baseline_timesteps = record.timesteps;
    evaluated_at_first_ = evaluated;
  }
  SweptTraining& training = trainings_.back();
  training.iterations += !record.is_baseline;
  training.last_ticks = now;
  training.last_timesteps = record.timesteps;
  training.evaluation_ticks = evaluated - evaluated_at_first_;
  if (record.total_timesteps) training.total_timesteps = record.total_timesteps;
}

// Of a thread that makes samples, one begins with its outermost operation, or where the sample before it was complete.
void Reports::add(SampleEnd sample, Thread& thread, uint64_t now, uint64_t worked_ticks) {
  if (!sample.is_of_task) {
    sample.elapsed_ticks = thread.sample_since == kNever ? 0 : now - thread.sample_since;
    thread.sample_since = thread.scope ? now : kNever;
  }
  samples_.add(sample, now, worked_ticks);
}

// Matching calls needs the other processes, so none is summed here.
void Reports::add(const CollectiveEnd& collective, uint64_t now) {
  collectives_.name_ids.push_back(collective.name);
  collectives_.sequences.push_back(collective.sequence);
  collectives_.sizes.push_back(collective.bytes);
  collectives_.calls.push_back(now - std::min(collective.elapsed_ticks, now));
  collectives_.waits.push_back(now - std::min(collective.waited_ticks, now));
  collectives_.ends.push_back(collective.is_unwaited ? 0 : now);
}

void Reports::forget() {
  trainings_.clear();
  tasks_ = {};
  memory_ = {};
}

void Reports::write(const std::vector<Name>& names, const SweepTables& tables, bool is_window, SweepResult& result) {
  result.trainings = trainings_;
  result.tasks = tasks_.rows(names);
  result.memory = memory_.rows(tables);
  result.memory_series = memory_.series();
  if (is_window) return;
  result.cpu_times = cpu_times_.rows(tables);
  result.durations = durations_.rows(tables);
  result.samples = samples_.rows(names);
  result.sample_tails = samples_.tails();
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, MessageSum> merged;  // ids of one name are one row
  for (const auto& [key, found] : messages_) {
    MessageSum& sum = merged[{tables.stage_of(key.second), tables.operation_of(key.second), names[key.first].text}];
    sum.count += found.count;
    sum.bytes += found.bytes;
  }
  for (const auto& [key, sum] : merged) {
    const auto& [stage, operation, boundary] = key;
    result.messages.push_back({stage, operation, boundary, sum.count, sum.bytes});
  }
  result.collectives = std::move(collectives_);
  for (uint32_t id : result.collectives.name_ids) result.collectives.names.emplace(id, names[id].text);
}

}  // namespace rlscope
