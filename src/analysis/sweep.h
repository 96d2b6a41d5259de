// The sweep: one pass over a process's streams that gives each instant one owner. docs/analysis.md states the rules.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader.h"

namespace rlscope {

struct SweepOptions {
  uint64_t limit_ticks = 0;  // when a process that did not stop in an orderly way ended; 0: not known
  bool by_thread = false;
};

// Names of operations and phases. The rows of a result refer to them: a name may be long, and a row has few bytes in
// the file.
struct Labels {
  std::vector<std::string> operations;
  std::vector<std::string> phases;
};

// Ticks of one (phase, stage, operation, category). The resource follows from the category.
struct BreakdownRow {
  uint32_t thread;  // 0 in the process's breakdown
  std::string_view phase;
  std::string_view stage;
  std::string_view operation;
  Category category;
  uint64_t ticks;
};

struct TransitionRow {
  std::string_view stage;
  std::string_view operation;
  Category from;
  Category to;
  uint64_t count;
};

struct StreamSummary {
  uint32_t stream;
  uint64_t thread_id;
  uint64_t events;
};

struct ProgressSummary {
  uint64_t iterations = 0;
  uint64_t first_ticks = 0;
  uint64_t first_timesteps = 0;
  uint64_t last_ticks = 0;
  uint64_t last_timesteps = 0;
  uint64_t total_timesteps = 0;
  std::optional<uint64_t> baseline_timesteps;
};

struct SweepResult {
  uint64_t start_ticks = 0;
  uint64_t end_ticks = 0;
  std::shared_ptr<const Labels> labels;  // what the rows refer to
  std::vector<BreakdownRow> breakdown;
  std::vector<BreakdownRow> threads;
  std::vector<TransitionRow> transitions;
  std::map<std::string, uint64_t> events;     // by kind: operation, phase, or a boundary's category
  std::map<std::string, uint64_t> crossings;  // by boundary name
  std::vector<StreamSummary> streams;
  std::optional<ProgressSummary> progress;
};

const char* category_label(Category category);
// Which hardware works while the owner is in `category`: cpu, or idle where it waits.
const char* resource_label(Category category);

SweepResult sweep(TraceFile& file, const SweepOptions& options);

}  // namespace rlscope
