// What records report: progress, tasks, samples, calls of communicators, memory, messages, time on a CPU, durations.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cpu_time_table.h"
#include "duration_table.h"
#include "memory_table.h"
#include "record_batch.h"
#include "sample_table.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "sweep_thread.h"
#include "task_table.h"

namespace rlscope {

class Reports {
 public:
  // With detail, the samples that took longest are kept by themselves.
  explicit Reports(bool has_detail) {
    if (has_detail) samples_.keep(kMostSamples);
  }

  // `evaluated`: for how many ticks the process was in the phase `evaluation`.
  void add(const Progress& progress, uint64_t now, uint64_t evaluated);
  void add(const TaskEnd& task) { tasks_.add(task); }
  // `worked_ticks`: for how many a device worked.
  void add(SampleEnd sample, Thread& thread, uint64_t now, uint64_t worked_ticks);
  void add(const CollectiveEnd& collective, uint64_t now);
  // `ticks_in_scope`: for how long the thread that looked has been in it.
  void add(const MemorySample& sample, Scope scope, uint64_t ticks_in_scope, uint64_t now) {
    memory_.add(sample, scope, ticks_in_scope, now);
  }

  void add(const MessageNumbers& message, Scope scope) {
    MessageSum& sum = messages_[{message.wait, scope}];
    sum.count++;
    sum.bytes += message.bytes;
  }

  CpuTimeTable& cpu_times() { return cpu_times_; }
  DurationTable& durations() { return durations_; }

  // What a window does not have.
  void forget();
  // While the tables have their rows. Those of a window have no samples, messages, calls of communicators and times on a CPU.
  void write(const std::vector<Name>& names, const SweepTables& tables, bool is_window, SweepResult& result);
  const SampleTable& samples() const { return samples_; }

 private:
  struct MessageSum {
    uint64_t count = 0;
    uint64_t bytes = 0;
  };

  std::vector<SweptTraining> trainings_;
  uint64_t evaluated_at_first_ = 0;  // report of the last one
  TaskTable tasks_;
  SampleTable samples_;
  std::map<std::pair<uint64_t, Scope>, MessageSum> messages_;  // by the wait's name id
  SweptCollectives collectives_;
  MemoryTable memory_;
  CpuTimeTable cpu_times_;
  DurationTable durations_;
};

}  // namespace rlscope
