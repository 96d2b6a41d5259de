// Names become numbers when they are learned, and labels again when the tables are written.
#include "sweep_tables.h"

#include <algorithm>
#include <numeric>

namespace rlscope {
namespace {

constexpr const char* kCategoryLabels[kCategories] = {"python", "simulator", "backend", "cuda", "wait"};

// Stages by number. The first two apply where no enclosing operation is one of the others.
constexpr const char* kStageLabels[] = {"(none)", "training_loop", "simulation", "inference", "backpropagation"};
constexpr uint8_t kNoStage = 0;
constexpr uint8_t kTrainingLoop = 1;
constexpr uint32_t kStages = 5;  // a scope is the number of the operation times this, plus the stage
constexpr uint8_t kStagePlaces[kStages] = {0, 4, 3, 2, 1};  // in alphabetical order
constexpr uint8_t kStageAtPlace[kStages] = {0, 4, 3, 2, 1};

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
  std::vector<std::string>& labels = kind == NameKind::kPhase ? labels_->phases : labels_->operations;
  auto [place, is_new] = numbers_[kind == NameKind::kPhase].try_emplace(name, labels.size());
  if (is_new) labels.push_back(name);
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
  scopes_.resize(labels_->operations.size() * kStages);
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

SweepTables::LabelOrder SweepTables::order_of(const std::vector<std::string>& labels) {
  LabelOrder order;
  order.label_at.resize(labels.size());
  order.place_of.resize(labels.size());
  std::iota(order.label_at.begin(), order.label_at.end(), 0u);
  std::sort(order.label_at.begin(), order.label_at.end(), [&](uint32_t a, uint32_t b) { return labels[a] < labels[b]; });
  for (size_t i = 0; i < labels.size(); i++) {
    bool is_equal = i > 0 && labels[order.label_at[i]] == labels[order.label_at[i - 1]];
    order.place_of[order.label_at[i]] = is_equal ? order.place_of[order.label_at[i - 1]] : static_cast<uint32_t>(i);
  }
  return order;
}

void SweepTables::add_cells(uint32_t thread, uint32_t phase, Scope scope, const Row& row, std::vector<Cell>& cells) const {
  for (uint8_t category = 0; category < kCategories; category++) {
    if (row.ticks[category] == 0) continue;
    cells.push_back({thread, phase_order_.place_of[phase], operation_order_.place_of[scope / kStages],
                     kStagePlaces[scope % kStages], category, row.ticks[category]});
  }
}

std::vector<BreakdownRow> SweepTables::rows_of(std::vector<Cell> cells) const {
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.key() < b.key(); });
  std::vector<BreakdownRow> rows;
  rows.reserve(cells.size());
  for (size_t i = 0; i < cells.size(); i++) {
    const Cell& cell = cells[i];
    if (i > 0 && cell.key() == cells[i - 1].key()) {
      rows.back().ticks += cell.ticks;
      continue;
    }
    rows.push_back({cell.thread, labels_->phases[phase_order_.label_at[cell.phase_place]],
                    kStageLabels[kStageAtPlace[cell.stage_place]],
                    labels_->operations[operation_order_.label_at[cell.operation_place]],
                    static_cast<Category>(cell.category), cell.ticks});
  }
  return rows;
}

void SweepTables::write(const std::vector<Name>& names, SweepResult& result) {
  result.labels = labels_;
  operation_order_ = order_of(labels_->operations);
  phase_order_ = order_of(labels_->phases);
  std::vector<Cell> cells;
  for (const auto& [key, row] : rows_) add_cells(0, key.first, key.second, row, cells);
  rows_.clear();
  result.breakdown = rows_of(std::move(cells));
  cells.clear();
  for (const auto& [key, row] : thread_rows_) {
    add_cells(std::get<0>(key), std::get<1>(key), std::get<2>(key), row, cells);
  }
  thread_rows_.clear();
  result.threads = rows_of(std::move(cells));
  write_transitions(result);
  write_counts(names, result);
}

void SweepTables::write_transitions(SweepResult& result) const {
  std::map<std::tuple<uint8_t, uint32_t, size_t, size_t>, uint64_t> counts;
  for (Scope scope = 0; scope < scopes_.size(); scope++) {
    if (!scopes_[scope].transitions) continue;
    for (size_t from = 0; from < kCategories; from++) {
      for (size_t to = 0; to < kCategories; to++) {
        uint64_t count = scopes_[scope].transitions->of[from][to];
        if (!count) continue;
        counts[{kStagePlaces[scope % kStages], operation_order_.place_of[scope / kStages], from, to}] += count;
      }
    }
  }
  for (const auto& [key, count] : counts) {
    const auto& [stage_place, operation_place, from, to] = key;
    result.transitions.push_back({kStageLabels[kStageAtPlace[stage_place]],
                                  labels_->operations[operation_order_.label_at[operation_place]],
                                  static_cast<Category>(from), static_cast<Category>(to), count});
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
