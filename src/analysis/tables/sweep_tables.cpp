// Names become numbers when they are learned, and labels again when the tables are written.
#include "sweep_tables.h"

#include <algorithm>
#include <numeric>

#include "correction.h"
#include "detail.h"

namespace rlscope {
namespace {

// Stages in alphabetical order.
struct StageOrder {
  uint8_t place_of[kStages];
  uint8_t stage_at[kStages];
};
constexpr StageOrder kStageOrder = [] {
  StageOrder order{};
  for (size_t stage = 0; stage < kStages; stage++) {
    for (std::string_view other : kStageLabels) order.place_of[stage] += other < kStageLabels[stage];
    order.stage_at[order.place_of[stage]] = static_cast<uint8_t>(stage);
  }
  return order;
}();

// A wait in code that nobody intercepts. Without a space, behind which a name has the stream that is waited for.
constexpr std::string_view kBlockedInNoBoundary = "(blocked)";

// The phase in which a policy is tested, which is no part of the training loop.
constexpr std::string_view kEvaluation = "evaluation";
// Below simulation: it does not begin the training loop.
constexpr std::string_view kReset = "reset";

// Locks, conditions and queues between threads, and their end.
bool waits_for_thread(const std::string& wait) {
  return wait.rfind("_thread.", 0) == 0 || wait.rfind("_queue.", 0) == 0;
}

Resource resource_of(size_t cell) {
  auto category = static_cast<uint8_t>(cell % kCategories);
  if (cell >= kDeviceCommunicates) return is_blocked(category) ? Resource::kCommunication : Resource::kCpuAndCommunication;
  if (cell >= kDeviceComputes) return is_blocked(category) ? Resource::kGpu : Resource::kBoth;
  return category == kWait || category >= kNoCore ? Resource::kIdle : Resource::kCpu;
}

}  // namespace

std::string_view function_of(const Name& name) {
  std::string_view text = name.text;
  return name.category == Category::kWait ? text.substr(0, text.find(' ')) : text;
}

uint32_t SweepTables::number_of(NameKind kind, const std::string& name) {
  std::vector<std::string>& labels = kind == NameKind::kPhase ? labels_->phases : labels_->operations;
  auto [place, is_new] = numbers_[kind == NameKind::kPhase].try_emplace(name, labels.size());
  if (is_new) {
    labels.push_back(name);
    if (kind == NameKind::kOperation) contexts_.push_back({purpose_of_name(name)});
  }
  return place->second;
}

// Of an operation that has a number of its own in its usual context.
uint32_t SweepTables::number_in(uint32_t operation, const Context& context) {
  std::vector<std::string>& labels = labels_->operations;
  auto [place, is_new] = numbers_in_.try_emplace({operation, context.purpose, context.left, context.is_outside}, labels.size());
  uint32_t number = place->second;
  if (!is_new) return number;
  labels.push_back(labels[context.is_outside ? 0 : operation]);
  contexts_.push_back(context);
  make_room();
  if (context.is_outside) {
    auto scope = static_cast<Scope>(number * kStages);
    outside_.push_back({context.purpose, scope, &rows_[{0, scope}]});
  }
  return number;
}

// For all scopes of the operations that there are.
void SweepTables::make_room() {
  scopes_.resize(labels_->operations.size() * kStages);
  for (auto& by_scope : transitions_.by_scope) by_scope.resize(scopes_.size());
  choose_transitions();
}

void SweepTables::learn_names(const std::vector<Name>& names) {
  names_.resize(names.size());
  for (size_t id = 0; id < names_.size(); id++) {
    const Name& name = names[id];
    NameState& state = names_[id];
    if (name.kind == NameKind{} || name.kind == NameKind::kDeviceWork || state.kind != NameKind{}) continue;
    state.kind = name.kind;
    state.category = static_cast<uint8_t>(name.category);
    if (name.kind == NameKind::kBoundary) {
      if (state.category != kWait && !has_detail_) continue;
      state.number = static_cast<uint32_t>(waits_.size());
      waits_.push_back({static_cast<uint32_t>(id), 0, nullptr, state.category == kWait && waits_for_thread(name.text)});
      continue;
    }
    state.number = number_of(name.kind, name.text);
    if (name.kind == NameKind::kPhase && name.text == kEvaluation) evaluation_ = state.number;
    if (name.kind != NameKind::kOperation) continue;
    state.stage = stage_of_name(name.text);
    state.is_reset = name.text == kReset;
  }
  make_room();
  phases_.resize(labels_->phases.size());
}

Scope SweepTables::inner_scope(Scope outer, const NameState& operation) {
  auto outer_stage = static_cast<Stage>(outer % kStages);
  const Context& around = contexts_[outer / kStages];
  const Context& usual = contexts_[operation.number];
  Context context{inner_purpose(around.purpose, usual.purpose), around.left};
  context.is_outside = around.is_outside && columns_of(usual.purpose).comes_anywhere;
  if (operation.stage == kLeavesStage && outer_stage > Stage::kTrainingLoop) {
    context.left = outer_stage;
  } else if (operation.stage > Stage::kTrainingLoop && operation.stage != kLeavesStage) {
    context.left = Stage::kNone;
  }
  uint32_t number = context.key() == usual.key() ? operation.number : number_in(operation.number, context);
  return number * kStages + static_cast<Scope>(inner_stage(outer_stage, operation.stage));
}

Scope SweepTables::scope_of(const LaunchSite& launch_site) const {
  return launch_site.operation ? names_[launch_site.operation].number * kStages + static_cast<Scope>(launch_site.stage) : 0;
}

void SweepTables::find_row(Scope scope) {
  ScopeState& state = scopes_[scope];
  if (!state.row || state.phase != phase_) {
    state.row = &rows_[{phase_, scope}];
    state.idle = has_devices_ ? &idle_cells_[{phase_, scope}] : nullptr;
    state.phase = phase_;
  }
  if (state.idle) settle(*state.idle, *state.row);
  state.epoch = epoch_;
}

uint32_t SweepTables::wait_number(uint32_t id) {
  uint32_t& number = id ? names_[id].number : wait_in_no_boundary_;
  if (number == 0) {
    number = static_cast<uint32_t>(waits_.size());
    waits_.push_back({id});
  }
  return number;
}

void SweepTables::find_wait(uint32_t phase, uint32_t number) {
  waits_[number].sum = &wait_sums_[{phase, number}];
  waits_[number].phase = phase;
}

void SweepTables::begin_phase(uint32_t number, uint64_t now) {
  PhaseState& state = phases_[number];
  state.open_frames++;
  if (state.has_begun) return;
  state.has_begun = true;
  state.start_ticks = now;
  begun_phases_.push_back(number);
}

void SweepTables::end_phase(uint32_t number, uint64_t now) {
  phases_[number].open_frames--;
  phases_[number].end_ticks = now;
}

// Rows and sums stay where they are.
void SweepTables::start_at(uint64_t now, const OpenPhases& open_phases) {
  for (auto& [place, row] : rows_) row = {};
  thread_rows_.clear();
  for (auto& [place, sum] : wait_sums_) sum = {};
  for (NameState& name : names_) name.count = 0;
  transitions_.begin_again();
  begun_phases_.clear();
  for (PhaseState& phase : phases_) phase.has_begun = false;
  for (const auto& [order, phase] : open_phases) {
    PhaseState& state = phases_[phase.number];
    if (state.has_begun) continue;
    state.has_begun = true;
    state.start_ticks = now;
    begun_phases_.push_back(phase.number);
  }
  marks_ = 0;
  loop_begin_ = LoopBegin::kNone;
}

void SweepTables::write_outside(SweepResult& result) const {
  std::map<std::tuple<LoopPart, Category, Resource>, uint64_t> sums;
  for (size_t i = 0; i < kCells; i++) {
    auto category = static_cast<uint8_t>(i % kCategories);
    for (const Outside& outside : outside_) {
      std::array<uint64_t, 3> parts = outside.parts(i, marks_ > 0);
      for (size_t part = 0; part < parts.size(); part++) {
        if (parts[part]) sums[{static_cast<LoopPart>(part), folded_category(category), resource_of(i)}] += parts[part];
      }
    }
  }
  for (const auto& [key, ticks] : sums) {
    result.outside.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ticks});
  }
}

// Before the rows are moved.
void SweepTables::write_purposes(SweepResult& result) const {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, Category, Resource, std::string_view>;
  std::map<Key, uint64_t> sums;
  auto add = [&](uint32_t phase, Purpose purpose, Scope scope, size_t cell, std::string_view part, uint64_t ticks) {
    Category category = folded_category(static_cast<uint8_t>(cell % kCategories));
    if (ticks == 0) return;
    sums[{labels_->phases[phase], columns_of(purpose).label, stage_of(scope), category, resource_of(cell), part}] += ticks;
  };
  for (const auto& [key, row] : rows_) {
    const auto& [phase, scope] = key;
    if (phase == 0 && is_outside(scope)) continue;
    for (size_t i = 0; i < kCells; i++) add(phase, contexts_[scope / kStages].purpose, scope, i, "", row.ticks[i]);
  }
  for (const Outside& outside : outside_) {
    for (size_t i = 0; i < kCells; i++) {
      std::array<uint64_t, 3> parts = outside.parts(i, marks_ > 0);
      for (size_t part = 0; part < parts.size(); part++) {
        add(0, outside.purpose, 0, i, kLoopPartLabels[part], parts[part]);
      }
    }
  }
  for (const auto& [key, ticks] : sums) {
    const auto& [phase, purpose, stage, category, resource, part] = key;
    result.purposes.push_back({phase, purpose, stage, category, resource, part, ticks});
  }
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
  for (size_t i = 0; i < kCells; i++) {
    if (row.ticks[i] == 0) continue;
    auto category = static_cast<uint8_t>(i % kCategories);
    cells.push_back({thread, phase_order_.place_of[phase], operation_order_.place_of[scope / kStages],
                     kStageOrder.place_of[scope % kStages], category >= kNoCore ? static_cast<Category>(category) : folded_category(category),
                     resource_of(i), left_by(scope), row.ticks[i]});
  }
}

std::string_view SweepTables::stage_label(uint8_t place) { return kStageLabels[kStageOrder.stage_at[place]]; }

template <typename AnyCell>
std::vector<AnyCell> SweepTables::folded(std::vector<AnyCell> cells) {
  std::sort(cells.begin(), cells.end(), [](const AnyCell& a, const AnyCell& b) { return a.key() < b.key(); });
  size_t kept = 0;
  for (size_t i = 0; i < cells.size(); i++) {
    if (kept > 0 && cells[kept - 1].key() == cells[i].key()) {
      cells[kept - 1].add(cells[i]);
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
  return cells;
}

SweptTime SweepTables::time_of(const Cell& cell) const {
  return {labels_->phases[phase_order_.label_at[cell.phase_place]], stage_label(cell.stage_place),
          operation_label(cell.operation_place), cell.category, cell.resource, ready_in(cell.category), outer_stage(cell.left), cell.ticks};
}

void SweepTables::write(const std::vector<Name>& names, SweepResult& result) {
  result.labels = labels_;
  operation_order_ = order_of(labels_->operations);
  phase_order_ = order_of(labels_->phases);
  std::vector<Cell> cells;
  write_outside(result);
  write_purposes(result);
  if (marks_) result.loop = {first_mark_ticks_, last_mark_ticks_};
  for (const auto& [key, row] : rows_) add_cells(0, key.first, key.second, row, cells);
  rows_.clear();
  cells = folded(std::move(cells));
  result.breakdown.reserve(cells.size());
  for (const Cell& cell : cells) result.breakdown.push_back(time_of(cell));
  cells.clear();
  for (const auto& [key, row] : thread_rows_) {
    add_cells(std::get<0>(key), std::get<1>(key), std::get<2>(key), row, cells);
  }
  thread_rows_.clear();
  cells = folded(std::move(cells));
  result.threads.reserve(cells.size());
  for (const Cell& cell : cells) {
    SweptTime time = time_of(cell);
    result.threads.push_back({cell.thread, time.phase, time.stage, time.operation, time.category, time.resource,
                              time.ready_in, time.outer_stage, time.ticks});
  }
  write_transitions(result);
  write_counts(names, result);
  write_phases(result);
  write_waits(names, result);
}

void SweepTables::write_counts(const std::vector<Name>& names, SweepResult& result) const {
  for (const char* kind : {"operation", "phase", "kernel", "copy", "memset"}) result.events[kind] = 0;
  for (size_t category = 0; category < name_categories(); category++) {
    result.events[category_label(static_cast<Category>(category))] = 0;
  }
  for (size_t id = 0; id < names_.size(); id++) {
    const NameState& state = names_[id];
    if (state.kind == NameKind::kBoundary) {
      result.events[category_label(static_cast<Category>(state.category))] += state.count;
      if (state.count) result.crossings[std::string(function_of(names[id]))] += state.count;
      bool waits = state.category == kCudaWait;
      if ((waits || state.category == kCuda) && state.count) result.cuda_calls.push_back({names[id].text, waits, state.count});
    } else if (state.kind == NameKind::kPhase) {
      result.events["phase"] += state.count;
    } else if (state.kind == NameKind::kOperation) {
      // What comes anywhere is no operation of the program's own, of which a reader knows how many there are.
      Purpose purpose = contexts_[state.number].purpose;
      if (!columns_of(purpose).comes_anywhere) {
        result.events["operation"] += state.count;
      } else if (state.count) {
        result.events[columns_of(purpose).label] += state.count;
      }
    }
  }
}

void SweepTables::write_phases(SweepResult& result) const {
  for (uint32_t number : begun_phases_) {
    const PhaseState& state = phases_[number];
    result.phases.push_back({labels_->phases[number], state.start_ticks,
                             state.open_frames ? result.end_ticks : state.end_ticks});
  }
}

std::string_view SweepTables::wait_label(const std::vector<Name>& names, uint32_t number) const {
  uint32_t id = waits_[number].id;
  return id ? std::string_view(names[id].text) : kBlockedInNoBoundary;
}

// Several phases or names may read the same, and then are one row.
void SweepTables::write_waits(const std::vector<Name>& names, SweepResult& result) const {
  std::map<std::pair<std::string_view, std::string_view>, WaitSum> sums;
  for (const auto& [key, found] : wait_sums_) {
    if (found.entries == 0 && found.ticks == 0) continue;
    WaitSum& sum = sums[{labels_->phases[key.first], wait_label(names, key.second)}];
    sum.entries += found.entries;
    sum.ticks += found.ticks;
    sum.in_operations_ticks += found.in_operations_ticks;
    LoopTicks settled = found.outside;
    settle(settled);
    sum.outside.between += settled.between;
  }
  for (const auto& [key, sum] : sums) {
    result.waits.push_back({.phase = key.first,
                            .boundary = key.second,
                            .entries = sum.entries,
                            .in_operations_ticks = sum.in_operations_ticks,
                            .in_loop_ticks = sum.in_operations_ticks + sum.outside.between,
                            .ticks = sum.ticks});
  }
}

void SweepTables::write_overhead(const std::vector<Name>& names, const Correction& correction,
                                 SweepResult& result) const {
  SweptCorrection& overhead = result.correction.emplace();
  auto bounds = [](const OverheadParts& parts) { return PartBounds{parts[0], parts[1], parts[2]}; };
  overhead.uncorrectable = bounds(correction.uncorrectable());
  for (auto [sums, rows] : {std::pair(&correction.removed(), &overhead.removed),
                            std::pair(&correction.turned(), &overhead.turned)}) {
    for (const auto& [place, parts] : *sums) {
      auto category = static_cast<uint8_t>(place.cell % kCategories);
      rows->push_back({labels_->phases[place.phase], kStageLabels[place.scope % kStages],
                       labels_->operations[place.scope / kStages], folded_category(category),
                       resource_of(place.cell), outer_stage(left_by(place.scope)), bounds(parts)});
    }
  }
  for (uint32_t id = 0; id < names_.size(); id++) {
    if (!names_[id].count) continue;
    auto& counts = correction.is_calibrated(id) ? overhead.charged : overhead.uncalibrated;
    counts[Correction::key_of(names[id])] += names_[id].count;
  }
}

// ---- detail

// Several names may read the same, and then are one row.
void SweepTables::write_detail(const std::vector<Name>& names, const Detail& detail, SweepResult& result) const {
  DetailResult& found = result.detail.emplace();
  auto label_of = [this](Scope scope, uint8_t cell) {
    auto category = static_cast<uint8_t>(cell % kCategories);
    return SweptSeries{kStageLabels[scope % kStages], labels_->operations[scope / kStages], folded_category(category),
                     resource_of(cell)};
  };

  std::vector<uint32_t> series_places;
  std::map<std::tuple<std::string_view, std::string_view, Category, Resource>, uint32_t> known_series;
  for (const auto& [scope, cell] : detail.series()) {
    SweptSeries row = label_of(scope, cell);
    auto [place, is_new] = known_series.try_emplace(row.fields(), static_cast<uint32_t>(found.series.size()));
    if (is_new) found.series.push_back(row);
    series_places.push_back(place->second);
  }
  found.bins = detail.bins();
  for (BinEntry& entry : found.bins) entry.series = series_places[entry.series];

  std::vector<uint32_t> function_places;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> known_functions;  // by series
  for (const FunctionCell& cell : detail.cells()) {
    uint32_t series = series_places[cell.series];
    std::string_view function = function_label(names, cell.place.number());
    auto [place, is_new] = known_functions.try_emplace({series, function}, static_cast<uint32_t>(found.functions.size()));
    if (is_new) {
      const SweptSeries& row = found.series[series];
      found.functions.push_back({row.stage, row.operation, row.category, row.resource, function, 0, 0});
    }
    found.functions[place->second].calls += cell.calls;
    found.functions[place->second].ticks += cell.ticks;
    function_places.push_back(place->second);
  }
  found.iterations = detail.iterations();
  found.iteration_entries = detail.iteration_entries();
  for (IterationEntry& entry : found.iteration_entries) entry.cell = function_places[entry.cell];

  std::map<std::pair<std::string_view, std::string_view>, Instances> merged;
  for (const auto& [scope, instances] : detail.instances()) merged[{stage_of(scope), operation_of(scope)}] += instances;
  for (const auto& [place, instances] : merged) {
    SweptInstances row{place.first, place.second, instances.count, instances.ticks};
    for (const auto& [ticks, count] : instances.counts) row.lengths.push_back({ticks, count});
    for (const SweptInstance& slow : instances.slowest) {
      if (slow.ticks) row.slowest.push_back(slow);
    }
    found.instances.push_back(std::move(row));
  }
  found.phases = detail.phases();
  found.phase_names.assign(labels_->phases.begin(), labels_->phases.end());
}

// Of a boundary by its number; empty without one.
std::string_view SweepTables::function_label(const std::vector<Name>& names, uint32_t number) const {
  if (number == 0) return "";
  uint32_t id = waits_[number].id;
  return id ? function_of(names[id]) : kBlockedInNoBoundary;
}

// ---- devices

SweepTables::WorkCell SweepTables::work_cell(uint32_t device, const LaunchSite& launch_site, uint32_t name,
                                             const WorkSum& sum) const {
  Scope scope = scope_of(launch_site);
  return {device, kStageOrder.place_of[scope % kStages], operation_order_.place_of[scope / kStages], name, sum, 0};
}

void SweepTables::write_devices(const TraceFile& file, const DeviceTimeline& devices, SweepResult& result) const {
  const std::vector<LaunchSite>& launch_sites = file.launch_sites();
  std::vector<WorkCell> of_operations;  // count: kernels, ticks: busy
  std::vector<WorkCell> of_names;
  for (const auto& [number, device] : devices.devices()) {
    const WorkSum &kernels = device.kernels, &copies = device.copies, &memsets = device.memsets;
    result.devices.push_back({.device = number,
                              .busy_ticks = device.busy_ticks,
                              .communication_ticks = device.communication_ticks,
                              .exposed_ticks = device.exposed_ticks,
                              .kernel_count = kernels.count,
                              .kernel_ticks = kernels.ticks,
                              .copy_count = copies.count,
                              .copy_ticks = copies.ticks,
                              .copy_bytes = copies.bytes,
                              .memset_count = memsets.count,
                              .memset_ticks = memsets.ticks,
                              .memset_bytes = memsets.bytes});
    result.events["kernel"] += kernels.count;
    result.events["copy"] += copies.count;
    result.events["memset"] += memsets.count;
    for (const auto& [launch_site, sum] : device.of_launch_site) {
      of_operations.push_back(work_cell(number, launch_sites[launch_site], 0, {sum.kernels, sum.busy_ticks, 0}));
      of_operations.back().exposed_ticks = sum.exposed_ticks;
    }
    for (const auto& [key, sum] : device.work) {
      of_names.push_back(work_cell(number, launch_sites[key >> 32], static_cast<uint32_t>(key), sum));
    }
  }
  for (const WorkCell& cell : folded(std::move(of_operations))) {
    result.device_operations.push_back({.device = cell.device,
                                        .stage = stage_label(cell.stage_place),
                                        .operation = operation_label(cell.operation_place),
                                        .busy_ticks = cell.sum.ticks,
                                        .exposed_ticks = cell.exposed_ticks,
                                        .kernels = cell.sum.count});
  }
  for (const WorkCell& cell : folded(std::move(of_names))) {
    result.device_work.push_back({.device = cell.device,
                                  .stage = stage_label(cell.stage_place),
                                  .operation = operation_label(cell.operation_place),
                                  .name = {file.names()[cell.name].text},
                                  .pieces = cell.sum.count,
                                  .ticks = cell.sum.ticks,
                                  .moved_bytes = cell.sum.bytes});
  }
  for (auto [work, sums] : {std::pair(kCuptiWork, &result.cupti_work), std::pair(kGap, &result.gaps)}) {
    for (const auto& [name, ticks] : devices.host_sums(work)) (*sums)[file.names()[name].text] += ticks;
  }
}

}  // namespace rlscope
