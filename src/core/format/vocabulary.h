// Categories and stages: their numbers in traces, their names in tables, and what the sweep does by them. A test compares
// numbers and names with rlscope/model.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rlscope {

// kCudaWait is a CUDA call that waits for the device; tables call it cuda. kNative, from version 12 on, is native code that no
// library's file knows. From kNoCore on no name has them: a thread that was in line for a core, by the category in which it
// would run, in the order of those above.
enum class Category : uint8_t {
  kPython = 0, kSimulator = 1, kBackend = 2, kCuda = 3, kWait = 4, kCudaWait = 5,
  kNative = 6,
  kNoCore = 7, kNoCoreInSimulator, kNoCoreInBackend, kNoCoreInCuda, kNoCoreInWait,
  kNoCoreInCudaWait, kNoCoreInNative,
};
// Who owns an instant that several threads take part in: the first of these.
enum class Turn : uint8_t { kWorks, kHasNoCore, kWaits };
struct CategoryColumns {
  const char* label;
  Category in_tables;
  Turn turn;
  uint8_t owner_place;   // of several threads that are alike otherwise, the one with the lowest owns the instant
  const char* ready_in;  // the category in which a thread would run that has no core
};
constexpr CategoryColumns kCategoryColumns[] = {
    {"python", Category::kPython, Turn::kWorks, 0, ""},
    {"simulator", Category::kSimulator, Turn::kWorks, 2, ""},
    {"backend", Category::kBackend, Turn::kWorks, 4, ""},
    {"cuda", Category::kCuda, Turn::kWorks, 3, ""},
    {"wait", Category::kWait, Turn::kWaits, 6, ""},
    {"cuda", Category::kCuda, Turn::kWaits, 5, ""},
    {"native", Category::kNative, Turn::kWorks, 1, ""},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 0, "python"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 2, "simulator"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 4, "backend"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 3, "cuda"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 6, "wait"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 5, "cuda"},
    {"no_core", Category::kNoCore, Turn::kHasNoCore, 1, "native"},
};
constexpr size_t kCategories = std::size(kCategoryColumns);
// Those that names may have.
constexpr size_t name_categories() { return static_cast<size_t>(Category::kNoCore); }

inline const char* category_label(Category category) { return kCategoryColumns[static_cast<size_t>(category)].label; }

inline const char* ready_in(Category category) { return kCategoryColumns[static_cast<size_t>(category)].ready_in; }

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
// Instead of a stage, of an operation that is in none of those around it: what a library calls in the middle of one.
constexpr Stage kLeavesStage{0x1F};

// What an operation is for, beside its stage.
enum class Purpose : uint8_t {
  kTraining = 0,
  kCallback = 1,
  kCheckpoint = 2,
  kLog = 3,
  kRender = 4,
  kCompile = 5,
  kImport = 6,
  kGarbageCollection = 7,
};
struct PurposeColumns {
  const char* label;
  bool interrupts;      // whatever is going on: it is the purpose wherever it is open; of the others the outermost is
  bool leaves_stage;    // what it does itself is in no stage
  bool shows_loop;      // where no operation encloses it, the training loop has begun
  bool comes_anywhere;  // in a program's life, so that time in it alone is in no operation
};
constexpr PurposeColumns kPurposeColumns[] = {
    {"training", false, false, true, false},
    {"callback", false, true, true, false},
    {"checkpoint", false, true, false, false},
    {"log", false, true, false, false},
    {"render", false, false, true, false},
    {"compile", true, false, false, false},
    {"import", true, true, false, true},
    {"garbage_collection", true, false, false, true},
};
inline const PurposeColumns& columns_of(Purpose purpose) { return kPurposeColumns[static_cast<size_t>(purpose)]; }

inline Purpose purpose_of_name(std::string_view name) {
  for (size_t purpose = 1; purpose < std::size(kPurposeColumns); purpose++) {
    if (name == kPurposeColumns[purpose].label) return static_cast<Purpose>(purpose);
  }
  return Purpose::kTraining;
}

// The purpose inside an operation that is entered where `outer` applies.
inline Purpose inner_purpose(Purpose outer, Purpose operation) {
  return columns_of(operation).interrupts || outer == Purpose::kTraining ? operation : outer;
}

inline Stage stage_of_name(std::string_view name) {
  if (columns_of(purpose_of_name(name)).leaves_stage) return kLeavesStage;
  for (size_t stage = 1; stage < kStages; stage++) {
    if (name == kStageLabels[stage]) return static_cast<Stage>(stage);
  }
  return Stage::kNone;
}

// The stage inside an operation that is entered where `outer` applies.
inline Stage inner_stage(Stage outer, Stage operation) {
  if (operation == kLeavesStage) return outer > Stage::kTrainingLoop ? Stage::kTrainingLoop : outer;
  return operation > Stage::kTrainingLoop || outer == Stage::kNone ? operation : outer;
}

}  // namespace rlscope
