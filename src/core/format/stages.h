// Which operations are stages, known to the recorder and the sweep alike.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace_format.h"

namespace rlscope {

constexpr size_t kStages = 6;
constexpr const char* kStageLabels[kStages] = {"(none)",    "training_loop",   "simulation",
                                               "inference", "backpropagation", "synchronisation"};

inline Stage stage_of_name(std::string_view name) {
  for (size_t stage = 1; stage < kStages; stage++) {
    if (name == kStageLabels[stage]) return static_cast<Stage>(stage);
  }
  return Stage::kNone;
}

// The stage inside an operation that is entered where `outer` applies.
inline Stage inner_stage(Stage outer, Stage operation) {
  return operation > Stage::kTrainingLoop || outer == Stage::kNone ? operation : outer;
}

}  // namespace rlscope
