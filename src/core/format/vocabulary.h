// Categories and stages: their numbers in traces, their names in tables, and what the sweep does by them. A test compares
// numbers and names with rlscope/model.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rlscope {

// kCudaWait is a CUDA call that waits for the device; tables call it cuda.
enum class Category : uint8_t { kPython = 0, kSimulator = 1, kBackend = 2, kCuda = 3, kWait = 4, kCudaWait = 5 };
struct CategoryColumns {
  const char* label;
  Category in_tables;
  bool is_blocked;      // the CPU only waits
  uint8_t owner_place;  // of several threads that are alike otherwise, the one with the lowest owns an instant
};
constexpr CategoryColumns kCategoryColumns[] = {
    {"python", Category::kPython, false, 0}, {"simulator", Category::kSimulator, false, 1},
    {"backend", Category::kBackend, false, 3}, {"cuda", Category::kCuda, false, 2},
    {"wait", Category::kWait, true, 5}, {"cuda", Category::kCuda, true, 4},
};
constexpr size_t kCategories = std::size(kCategoryColumns);

inline const char* category_label(Category category) { return kCategoryColumns[static_cast<size_t>(category)].label; }

// The part of training that an instant belongs to. The first two apply where no enclosing operation is one of the others.
enum class Stage : uint8_t {
  kNone = 0,
  kTrainingLoop = 1,
  kSimulation = 2,
  kInference = 3,
  kBackpropagation = 4,
  kSynchronisation = 5,  // from version 4 on
};
constexpr const char* kStageLabels[] = {"(none)",    "training_loop",   "simulation",
                                        "inference", "backpropagation", "synchronisation"};
constexpr size_t kStages = std::size(kStageLabels);

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
