// Where the sweep adds up: ticks and counts in dense tables that grow as names and their combinations appear.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sweep.h"

namespace rlscope {

constexpr size_t kCategories = 5;

// A leaf operation together with the stage it belongs to, as one number. 0: in no operation.
using Scope = uint32_t;

// Ticks by category.
struct Row {
  uint64_t ticks[kCategories] = {};
};

class SweepTables {
 public:
  struct NameState {
    uint64_t count = 0;   // begun so far
    uint32_t number = 0;  // of the operation or phase with this name
    NameKind kind{};
    uint8_t category = 0;
    uint8_t stage = 0;
  };

  // To be called again when the catalog has grown.
  void learn_names(const std::vector<Name>& names);
  bool knows_name(uint64_t id) const { return id < names_.size() && names_[id].kind != NameKind{}; }
  NameState& name(uint32_t id) { return names_[id]; }

  // The scope of an operation that begins where `outer` is open.
  static Scope inner_scope(Scope outer, const NameState& operation);

  // The row of the process in which an instant in this phase and scope counts. It stays where it is.
  Row& row(uint32_t phase, Scope scope) {
    ScopeState& state = scopes_[scope];
    if (__builtin_expect(!state.row || state.phase != phase, 0)) find_row(phase, scope);
    return *state.row;
  }
  // The same of one thread's own view.
  Row& thread_row(uint32_t thread, uint32_t phase, Scope scope) { return thread_rows_[{thread, phase, scope}]; }

  void count_transition(Scope scope, uint8_t from, uint8_t to) {
    ScopeState& state = scopes_[scope];
    if (__builtin_expect(!state.transitions, 0)) state.transitions = &transitions_.emplace_back();
    state.transitions->of[from][to]++;
  }

  // Writes the tables into `result`, with `names` as they were learned.
  void write(const std::vector<Name>& names, SweepResult& result) const;

 private:
  struct TransitionCounts {
    uint64_t of[kCategories][kCategories] = {};  // from, to
  };
  struct ScopeState {
    Row* row = nullptr;  // of the phase below; another phase needs another row
    uint32_t phase = 0;
    TransitionCounts* transitions = nullptr;
  };
  // Ticks by thread, phase, stage, operation, category. By label, because two names of the catalog may read the same.
  using Labelled = std::map<std::tuple<uint32_t, std::string, std::string, std::string, size_t>, uint64_t>;

  uint32_t number_of(NameKind kind, const std::string& name);
  void find_row(uint32_t phase, Scope scope);
  void add_row(uint32_t thread, uint32_t phase, Scope scope, const Row& row, Labelled& table) const;
  static std::vector<BreakdownRow> rows_of(const Labelled& table);
  void write_transitions(SweepResult& result) const;
  void write_counts(const std::vector<Name>& names, SweepResult& result) const;

  std::vector<NameState> names_;                                   // by id
  std::unordered_map<std::string, uint32_t> numbers_[2];           // operations, phases
  std::vector<std::string> labels_[2] = {{"(none)"}, {"(none)"}};  // by number
  std::vector<ScopeState> scopes_;                                 // by scope
  std::map<std::pair<uint32_t, Scope>, Row> rows_;                 // by phase, scope
  std::map<std::tuple<uint32_t, uint32_t, Scope>, Row> thread_rows_;
  std::deque<TransitionCounts> transitions_;
};

}  // namespace rlscope
