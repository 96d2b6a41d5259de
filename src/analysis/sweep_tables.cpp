// Names become numbers when they are learned, and labels again when the tables are written.
#include "sweep_tables.h"

namespace rlscope {
namespace {

constexpr const char* kCategoryLabels[kCategories] = {"python", "simulator", "backend", "cuda", "wait"};

// Stages by number. The first two apply where no enclosing operation is one of the others.
constexpr const char* kStageLabels[] = {"(none)", "training_loop", "simulation", "inference", "backpropagation"};
constexpr uint8_t kNoStage = 0;
constexpr uint8_t kTrainingLoop = 1;
constexpr uint32_t kStages = 5;  // a scope is the number of the operation times this, plus the stage

uint8_t stage_of_name(const std::string& name) {
  for (uint8_t stage = 1; stage < kStages; stage++) {
    if (name == kStageLabels[stage]) return stage;
  }
  return kNoStage;
}

}  // namespace

const char* category_label(Category category) { return kCategoryLabels[static_cast<size_t>(category)]; }

const char* resource_label(Category category) { return category == Category::kWait ? "idle" : "cpu"; }

uint32_t SweepTables::number_of(NameKind kind, const std::string& name) {
  size_t table = kind == NameKind::kPhase;
  auto [place, is_new] = numbers_[table].try_emplace(name, labels_[table].size());
  if (is_new) labels_[table].push_back(name);
  return place->second;
}

void SweepTables::learn_names(const std::vector<Name>& names) {
  names_.resize(names.size());
  for (size_t id = 0; id < names_.size(); id++) {
    const Name& name = names[id];
    NameState& state = names_[id];
    if (name.kind == NameKind{} || state.kind != NameKind{}) continue;
    state.kind = name.kind;
    state.category = static_cast<uint8_t>(name.category);
    if (name.kind == NameKind::kBoundary) continue;
    state.number = number_of(name.kind, name.text);
    if (name.kind == NameKind::kOperation) state.stage = stage_of_name(name.text);
  }
  scopes_.resize(labels_[0].size() * kStages);
}

Scope SweepTables::inner_scope(Scope outer, const NameState& operation) {
  auto stage = static_cast<uint8_t>(outer % kStages);
  if (operation.stage > kTrainingLoop || stage == kNoStage) stage = operation.stage;
  return operation.number * kStages + stage;
}

void SweepTables::find_row(uint32_t phase, Scope scope) {
  scopes_[scope].row = &rows_[{phase, scope}];
  scopes_[scope].phase = phase;
}

void SweepTables::add_row(uint32_t thread, uint32_t phase, Scope scope, const Row& row, Labelled& table) const {
  for (size_t category = 0; category < kCategories; category++) {
    if (row.ticks[category] == 0) continue;
    table[{thread, labels_[1][phase], kStageLabels[scope % kStages], labels_[0][scope / kStages], category}] +=
        row.ticks[category];
  }
}

std::vector<BreakdownRow> SweepTables::rows_of(const Labelled& table) {
  std::vector<BreakdownRow> rows;
  for (const auto& [key, ticks] : table) {
    const auto& [thread, phase, stage, operation, category] = key;
    rows.push_back({thread, phase, stage, operation, static_cast<Category>(category), ticks});
  }
  return rows;
}

void SweepTables::write(const std::vector<Name>& names, SweepResult& result) const {
  Labelled breakdown;
  for (const auto& [key, row] : rows_) add_row(0, key.first, key.second, row, breakdown);
  result.breakdown = rows_of(breakdown);
  Labelled threads;
  for (const auto& [key, row] : thread_rows_) add_row(std::get<0>(key), std::get<1>(key), std::get<2>(key), row, threads);
  result.threads = rows_of(threads);
  write_transitions(result);
  write_counts(names, result);
}

void SweepTables::write_transitions(SweepResult& result) const {
  std::map<std::tuple<std::string, std::string, size_t, size_t>, uint64_t> labelled;
  for (Scope scope = 0; scope < scopes_.size(); scope++) {
    if (!scopes_[scope].transitions) continue;
    for (size_t from = 0; from < kCategories; from++) {
      for (size_t to = 0; to < kCategories; to++) {
        uint64_t count = scopes_[scope].transitions->of[from][to];
        if (count) labelled[{kStageLabels[scope % kStages], labels_[0][scope / kStages], from, to}] += count;
      }
    }
  }
  for (const auto& [key, count] : labelled) {
    const auto& [stage, operation, from, to] = key;
    result.transitions.push_back({stage, operation, static_cast<Category>(from), static_cast<Category>(to), count});
  }
}

void SweepTables::write_counts(const std::vector<Name>& names, SweepResult& result) const {
  for (const char* kind : {"operation", "phase"}) result.events[kind] = 0;
  for (const char* label : kCategoryLabels) result.events[label] = 0;
  for (size_t id = 0; id < names_.size(); id++) {
    const NameState& state = names_[id];
    if (state.kind == NameKind::kBoundary) {
      result.events[kCategoryLabels[state.category]] += state.count;
      if (state.count) result.crossings[names[id].text] += state.count;
    } else if (state.kind != NameKind{}) {
      result.events[state.kind == NameKind::kOperation ? "operation" : "phase"] += state.count;
    }
  }
}

}  // namespace rlscope
