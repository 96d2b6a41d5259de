// Where the sweep adds up: ticks and counts in dense tables that grow as names and their combinations appear.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "device_timeline.h"
#include "sweep_result.h"
#include "trace_file.h"
#include "vocabulary.h"

namespace rlscope {

// Ticks in the training loop. Where it ends is known in the end only: what passed since a mark is in it once another one
// follows.
struct LoopTicks {
  uint64_t between = 0;  // marks
  uint64_t since = 0;    // the mark below
  uint64_t mark = 0;
};

// The same of a row of the breakdown, while no device worked.
struct IdleCells {
  uint64_t between[kCategories] = {};
  uint64_t at_mark[kCategories] = {};  // what the row had at the mark below
  uint64_t mark = 0;
};

// What the process did in one boundary that waits.
struct WaitSum {
  uint64_t entries = 0;
  uint64_t ticks = 0;
  uint64_t in_operations_ticks = 0;
  LoopTicks outside;  // in no operation
};

// What the process does while not all of its devices work.
struct IdleDoing {
  uint64_t working;  // devices, as in SweptProcessIdle
  Scope scope;
  uint32_t wait;  // its number; 0: in none
  uint8_t category;
  bool is_evaluation;

  auto key() const { return std::tie(working, scope, wait, category, is_evaluation); }
  bool operator<(const IdleDoing& other) const { return key() < other.key(); }
};

// What shows that the training loop has begun and has not ended: the outermost operation that begins or ends, of
// simulation a reset where one was in it, or a report. An operation may show nothing.
enum class LoopMark : uint8_t { kNothing, kOperation, kSimulation, kReset, kTrainingLoop, kProgress };

// Whether a first mark holds: not if it turns out to be a reset, nor from a `training_loop` on.
enum class LoopBegin : uint8_t { kNone, kOpen, kKnown, kTrainingLoop };

struct OpenPhase {
  uint32_t number;
  uint32_t stream;   // of the thread that began it
  bool is_recorded;  // else nobody knows when that was
};
using OpenPhases = std::map<uint64_t, OpenPhase>;

// The name of a boundary, without the stream that it waits for.
std::string_view function_of(const Name& name);

class Correction;
class Detail;

class SweepTables {
 public:
  // With detail all boundaries have numbers, not those alone that wait. With devices their idle time is added up too.
  SweepTables(bool has_detail, bool has_devices) : has_detail_(has_detail), has_devices_(has_devices) {}

  struct NameState {
    uint64_t count = 0;   // begun so far
    uint32_t number = 0;  // of the operation, the phase or the boundary with this name; boundaries count from 1; 0: none
    NameKind kind{};
    uint8_t category = 0;
    Stage stage = Stage::kNone;
    bool is_reset = false;
  };

  // To be called again when the catalog has grown. Names of device work stay unknown: no event has one.
  void learn_names(const std::vector<Name>& names);
  bool knows_name(uint64_t id) const { return id < names_.size() && names_[id].kind != NameKind{}; }
  NameState& name(uint32_t id) { return names_[id]; }
  const NameState& name(uint32_t id) const { return names_[id]; }

  // The scope of an operation that begins where `outer` is open.
  Scope inner_scope(Scope outer, const NameState& operation);
  // The scope of work; the launch site's operation must be known.
  Scope scope_of(const LaunchSite& launch_site) const;

  // The row of the process in which an instant in this scope counts, in the present phase. It stays where it is, but is to
  // be asked for again in another epoch.
  Row& row(Scope scope) {
    ScopeState& state = scopes_[scope];
    if (__builtin_expect(state.epoch != epoch_, 0)) find_row(scope);
    return *state.row;
  }
  // Of rows: ends with each phase and, where there are devices, with each mark of the training loop.
  uint64_t epoch() const { return epoch_; }
  // The same of one thread's own view.
  Row& thread_row(uint32_t thread, uint32_t phase, Scope scope) { return thread_rows_[{thread, phase, scope}]; }
  size_t thread_rows() const { return thread_rows_.size(); }

  // The number of the wait for which a thread was blocked in the boundary with this name; 0: in none.
  uint32_t wait_number(uint32_t id);

  // The sums of a wait in a phase of the process. They stay where they are.
  WaitSum& wait(uint32_t phase, uint32_t number) {
    WaitState& state = waits_[number];
    if (__builtin_expect(!state.sum || state.phase != phase, 0)) find_wait(phase, number);
    return *state.sum;
  }
  size_t wait_rows() const { return wait_sums_.size(); }
  // What a wait is called, with the stream that it is for.
  std::string_view wait_label(const std::vector<Name>& names, uint32_t number) const;
  // Whether the wait with this number, 0 for none, is for another thread of the process.
  bool is_for_thread(uint64_t number) const { return waits_[number].is_for_thread; }
  void add_wait(WaitSum& sum, uint64_t ticks, bool in_operation) const;
  // Adds to what is in the loop, or turns out not to be.
  void add_in_loop(LoopTicks& sum, uint64_t ticks) const {
    settle(sum);
    sum.since += ticks;
  }
  // What of all of it lies before the loop, in it and after it.
  std::array<uint64_t, 3> parts(LoopTicks sum, uint64_t all) const;
  // Of all but what a row has: the time in which no device worked and the process did not wait.
  void add_idle(const IdleDoing& doing, uint64_t ticks);

  // An operation that no other one of its thread encloses begins or ends, or an iteration is reported.
  void mark_loop(LoopMark mark, bool begins, uint64_t now);

  // The phase with this number, 0 for none, counts from here on.
  void enter_phase(uint32_t number) {
    phase_ = number;
    epoch_++;
    evaluates_ = is_evaluation(number);
    choose_transitions();
  }
  bool evaluates() const { return evaluates_; }

  // A frame of the phase begins or ends at `now`.
  void begin_phase(uint32_t number, uint64_t now);
  void end_phase(uint32_t number, uint64_t now);

  void count_transition(Scope scope, uint8_t from, uint8_t to) {
    TransitionCounts*& counts = transitions_.now[scope];
    if (__builtin_expect(!counts, 0)) find_transitions(scope);
    counts->of[from][to]++;
  }

  // Whether time there is in none of the operations that show where the training loop is.
  bool is_outside(Scope scope) const { return contexts_[scope / kStages].is_outside; }
  // What an operation with this scope shows that no other one encloses.
  LoopMark mark_of(Scope scope) const {
    auto stage = static_cast<Stage>(scope % kStages);
    if (stage == Stage::kTrainingLoop) return LoopMark::kTrainingLoop;
    if (!columns_of(contexts_[scope / kStages].purpose).shows_loop) return LoopMark::kNothing;
    return stage == Stage::kSimulation ? LoopMark::kSimulation : LoopMark::kOperation;
  }
  const char* purpose_of(Scope scope) const { return columns_of(contexts_[scope / kStages].purpose).label; }
  const char* stage_of(Scope scope) const { return kStageLabels[scope % kStages]; }
  const std::string& phase_of(uint32_t phase) const { return labels_->phases[phase]; }
  const std::string& operation_of(Scope scope) const { return labels_->operations[scope / kStages]; }
  bool is_evaluation(uint32_t phase) const { return phase != 0 && phase == evaluation_; }

  // Calls with the phase, the scope and the row of each row of the process.
  template <typename OnRow>
  void for_each_row(OnRow on_row) const {
    for (const auto& [key, row] : rows_) on_row(key.first, key.second, row);
  }

  // Adds what the process did while not all of its devices worked, before the tables are moved.
  void write_idle(const std::vector<Name>& names, uint64_t devices, SweepResult& result) const;
  // Begins again with nothing at `now`, when these phases are open, by the order in which they began.
  void start_at(uint64_t now, const OpenPhases& open_phases);

  // Moves the tables into `result`, with `names` as they were learned.
  void write(const std::vector<Name>& names, SweepResult& result);
  // Adds those of devices, after the others.
  void write_devices(const TraceFile& file, const DeviceTimeline& devices, SweepResult& result) const;
  // Adds what was asked for beside them.
  void write_detail(const std::vector<Name>& names, const Detail& detail, SweepResult& result) const;
  // What correction changes of them.
  void write_overhead(const std::vector<Name>& names, const Correction& correction, SweepResult& result) const;

 private:
  // Where an operation was opened: what for and, where one around it has left a stage for none, in which.
  struct Context {
    Purpose purpose = Purpose::kTraining;
    Stage left = Stage::kNone;
    bool is_outside = false;  // all operations, as one that may come anywhere in a program's life is, in no other one

    auto key() const { return std::tie(purpose, left, is_outside); }
  };
  struct TransitionCounts {
    uint64_t of[name_categories()][name_categories()] = {};  // from, to
  };
  enum TransitionPlace : size_t { kInNoPhase, kInPhase, kInEvaluation };
  struct Transitions {
    std::deque<TransitionCounts> counts;
    std::array<std::vector<TransitionCounts*>, 3> by_scope;  // and place
    TransitionCounts** now = nullptr;                        // those of the place where the process is
    // In no phase and outside of operations: left by all scopes at each mark of the loop, until one is counted again.
    TransitionCounts outside;
    uint64_t settled_entries = 0;  // how many of these are in the next
    LoopTicks outside_entries;

    // Counts stay where they are.
    void begin_again() {
      for (TransitionCounts& each : counts) each = {};
      outside = {};
      settled_entries = 0;
      outside_entries = {};
    }
  };
  struct ScopeState {
    Row* row = nullptr;  // of the phase below; another phase needs another row
    IdleCells* idle = nullptr;  // of the row, where there are devices
    uint64_t epoch = 0;  // in which it was asked for last; 0: in none
    uint32_t phase = 0;
  };
  struct WaitState {
    uint32_t id = 0;  // of the boundary's name; 0: none was open
    uint32_t phase = 0;  // of the sum below; another phase needs another one
    WaitSum* sum = nullptr;
    bool is_for_thread = false;
  };
  struct PhaseState {
    bool has_begun = false;
    uint64_t open_frames = 0;
    uint64_t start_ticks = 0;
    uint64_t end_ticks = 0;
  };
  // A row on its way into the result. Places are those of the labels in alphabetical order: an operation may be called
  // "(none)", and then two scopes are one row.
  struct Cell {
    uint32_t thread;
    uint32_t phase_place;
    uint32_t operation_place;
    uint8_t stage_place;
    Category category;
    Resource resource;
    Stage left;
    uint64_t ticks;

    auto key() const { return std::tie(thread, phase_place, stage_place, operation_place, category, resource, left); }
    void add(const Cell& same) { ticks += same.ticks; }
  };
  // The same of device work, by name id; 0 for all of a launch site.
  struct WorkCell {
    uint32_t device;
    uint8_t stage_place;
    uint32_t operation_place;
    uint32_t name;
    WorkSum sum;
    uint64_t exposed_ticks;  // of all of a launch site

    auto key() const { return std::tie(device, stage_place, operation_place, name); }
    void add(const WorkCell& same) {
      sum += same.sum;
      exposed_ticks += same.exposed_ticks;
    }
  };
  struct LabelOrder {
    std::vector<uint32_t> place_of;  // by number
    std::vector<uint32_t> label_at;  // by place
  };

  uint32_t number_of(NameKind kind, const std::string& name);
  uint32_t number_in(uint32_t operation, const Context& context);
  void make_room();
  Stage left_by(Scope scope) const { return contexts_[scope / kStages].left; }
  // The stage that an operation around the scope's has left; empty without one.
  std::string_view outer_stage(Stage left) const { return left == Stage::kNone ? "" : kStageLabels[static_cast<size_t>(left)]; }
  void find_row(Scope scope);
  void find_wait(uint32_t phase, uint32_t number);
  static LabelOrder order_of(const std::vector<std::string>& labels);
  void add_cells(uint32_t thread, uint32_t phase, Scope scope, const Row& row, std::vector<Cell>& cells) const;
  // In order, one of each key.
  template <typename AnyCell>
  static std::vector<AnyCell> folded(std::vector<AnyCell> cells);
  static std::string_view stage_label(uint8_t place);
  std::string_view operation_label(uint32_t place) const { return labels_->operations[operation_order_.label_at[place]]; }
  SweptTime time_of(const Cell& cell) const;
  void choose_transitions() {
    transitions_.now = transitions_.by_scope[evaluates_ ? kInEvaluation : phase_ ? kInPhase : kInNoPhase].data();
  }
  void find_transitions(Scope scope);
  void settle_outside_transitions();
  void leave_outside_transitions();
  template <typename OnEntry>
  static void for_each_entry(const TransitionCounts& counts, OnEntry on_entry);
  static uint64_t entries_in(const TransitionCounts& counts);
  std::vector<SweptTransition> transitions_in(std::initializer_list<size_t> places) const;
  void write_transitions(SweepResult& result);
  void write_counts(const std::vector<Name>& names, SweepResult& result) const;
  void write_phases(SweepResult& result) const;
  void write_waits(const std::vector<Name>& names, SweepResult& result) const;
  void settle(LoopTicks& sum) const;
  void settle(IdleCells& cells, const Row& row) const;
  std::string_view function_label(const std::vector<Name>& names, uint32_t number) const;
  void write_outside(SweepResult& result) const;
  void write_purposes(SweepResult& result) const;
  WorkCell work_cell(uint32_t device, const LaunchSite& launch_site, uint32_t name, const WorkSum& sum) const;

  bool has_detail_;
  bool has_devices_;
  std::vector<NameState> names_;                                   // by id
  std::unordered_map<std::string, uint32_t> numbers_[2];           // operations, phases
  std::shared_ptr<Labels> labels_ = std::make_shared<Labels>(Labels{{"(none)"}, {"(none)"}});  // by number
  // An operation has another number, and the same label, in another context.
  std::vector<Context> contexts_{{Purpose::kTraining, Stage::kNone, true}};  // by number of the operation
  std::map<std::tuple<uint32_t, Purpose, Stage, bool>, uint32_t> numbers_in_;
  LabelOrder operation_order_, phase_order_;
  std::vector<ScopeState> scopes_;                                 // by scope
  std::map<std::pair<uint32_t, Scope>, Row> rows_;                 // by phase, scope
  std::map<std::pair<uint32_t, Scope>, IdleCells> idle_cells_;     // of these
  std::map<IdleDoing, LoopTicks> idle_;                            // what is not in these
  uint32_t phase_ = 0;
  uint64_t epoch_ = 1;
  std::map<std::tuple<uint32_t, uint32_t, Scope>, Row> thread_rows_;
  Transitions transitions_;
  std::vector<PhaseState> phases_;      // by number
  std::vector<uint32_t> begun_phases_;  // in the order in which they first began
  std::vector<WaitState> waits_{{}};    // by number; 0 is none
  uint32_t wait_in_no_boundary_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, WaitSum> wait_sums_;  // by phase, wait
  // In no phase and outside of operations.
  struct Outside {
    Purpose purpose;
    Scope scope;
    Row* row;
    Row at_first{}, at_last{};  // what it was at the first and at the last mark of the loop

    // What a cell has in each part of the program's life.
    std::array<uint64_t, 3> parts(size_t cell, bool has_marks) const {
      uint64_t all = row->ticks[cell], first = has_marks ? at_first.ticks[cell] : all, last = has_marks ? at_last.ticks[cell] : all;
      return {first, last - first, all - last};
    }
  };
  std::vector<Outside> outside_{{Purpose::kTraining, 0, &rows_[{0, 0}]}};
  uint64_t first_mark_ticks_ = 0, last_mark_ticks_ = 0;
  uint64_t marks_ = 0;
  uint64_t first_mark_ = 1;  // that counts
  LoopBegin loop_begin_ = LoopBegin::kNone;
  uint32_t evaluation_ = 0;  // the number of this phase; 0: no name is it
  bool evaluates_ = false;
};

}  // namespace rlscope
