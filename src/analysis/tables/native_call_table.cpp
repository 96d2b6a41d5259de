// Sums by name id and stack become rows by text: stacks that differ in callers alone are one line.
#include "native_call_table.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "stack_places.h"

namespace rlscope {
namespace {

using Line = std::tuple<std::string_view, std::string_view, uint32_t>;  // function, file, line

// The folder of a package: of `/x/site-packages/torch/cuda/__init__.py` it is `/torch/`.
std::string package_of(std::string_view path) {
  constexpr std::string_view kPackages = "-packages/";
  size_t packages = path.rfind(kPackages);
  if (packages == std::string_view::npos) return {};
  path.remove_prefix(packages + kPackages.size() - 1);
  size_t end = path.find('/', 1);
  return end == std::string_view::npos ? std::string() : std::string(path.substr(0, end + 1));
}

// Where the library was called of which the function is: the innermost line outside of it, if there is one. torch.addmm is
// called by torch/nn/modules/linear.py, and that by the line that the user wants to know.
Line line_of(const TraceFile& file, uint32_t stack, std::string_view function) {
  const std::vector<StackEntry>& stacks = file.stacks();
  auto code_of = [&](uint32_t id) -> const Code& { return file.codes()[stacks[id].code]; };
  stack = place_from(file, stack);
  if (!stack) return {};
  size_t dot = function.find('.');
  std::string library = dot == std::string_view::npos ? package_of(code_of(stack).file)
                                                      : "/" + std::string(function.substr(0, dot)) + "/";
  uint32_t outside = stack;
  while (outside && !library.empty() && code_of(outside).file.find(library) != std::string::npos) {
    outside = place_from(file, stacks[outside].caller);
  }
  uint32_t shown = outside ? outside : stack;
  return {code_of(shown).name, code_of(shown).file, stacks[shown].line};
}

std::string_view function_text(const TraceFile& file, uint32_t function) {
  return function ? function_of(file.names()[function]) : std::string_view();
}

double ticks_per_ns(const FileHeader& header) {
  uint64_t ticks = header.last_pair.ticks - header.first_pair.ticks;
  uint64_t ns = header.last_pair.monotonic_ns - header.first_pair.monotonic_ns;
  return ticks && ns ? static_cast<double>(ticks) / static_cast<double>(ns) : 1;
}

}  // namespace

NativeCallTable::NativeCallTable(const FileHeader& header)
    : period_ticks_(std::max(1.0, ticks_per_ns(header) * static_cast<double>(kPeriodsOfCalls * kStackPeriod_ns))) {}

void NativeCallTable::add_call(Scope scope, uint32_t function, uint32_t stack, uint64_t ticks, SyncSum* sync) {
  auto length = static_cast<double>(std::max<uint64_t>(ticks, 1));
  double stands_for = std::max(length, period_ticks_);
  SiteSum& sum = sites_[{scope, function, stack}];
  sum.stacks++;
  sum.waiting_stacks += sync != nullptr;
  sum.calls += stands_for / length;
  sum.ticks += stands_for;
  if (sync) sync->stacks[stack]++;
}

void NativeCallTable::clear() {
  for (auto& [place, sum] : syncs_) sum = {};
  sites_.clear();
}

std::vector<SweptSyncPoint> NativeCallTable::sync_points(const TraceFile& file, const SweepTables& tables) const {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  struct Merged {
    uint64_t calls = 0, ticks = 0, stacks = 0;
    std::map<Line, uint64_t> lines;
  };
  std::map<Key, Merged> merged;
  for (const auto& [place, found] : syncs_) {
    if (found.calls == 0 && found.ticks == 0) continue;
    Merged& sum = merged[{tables.stage_of(place.scope), tables.operation_of(place.scope), function_text(file, place.function),
                          file.names()[place.wait].text}];
    sum.calls += found.calls;
    sum.ticks += found.ticks;
    std::string_view called = place.function ? function_text(file, place.function) : file.names()[place.wait].text;
    for (const auto& [stack, count] : found.stacks) {
      sum.stacks += count;
      sum.lines[line_of(file, stack, called)] += count;
    }
  }
  std::vector<SweptSyncPoint> rows;
  for (const auto& [key, sum] : merged) {
    const auto& [stage, operation, function, wait] = key;
    SweptSyncPoint row{.stage = stage,
                       .operation = operation,
                       .function = function,
                       .wait = wait,
                       .calls = sum.calls,
                       .ticks = sum.ticks,
                       .stacks = sum.stacks};
    for (const auto& [line, count] : sum.lines) {
      if (count > row.line_stacks) {
        std::tie(row.caller, row.file, row.line) = line;
        row.line_stacks = count;
      }
    }
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SweptSyncPoint& a, const SweptSyncPoint& b) { return a.ticks > b.ticks; });
  return rows;
}

std::vector<SweptCallSite> NativeCallTable::call_sites(const TraceFile& file, const SweepTables& tables) const {
  using Function = std::tuple<std::string_view, std::string_view, Category, std::string_view>;  // stage, operation, its own
  std::map<Function, std::map<Line, SiteSum>> merged;
  for (const auto& [site, found] : sites_) {
    std::string_view name = function_text(file, site.function);
    Function function{tables.stage_of(site.scope), tables.operation_of(site.scope), file.names()[site.function].category, name};
    SiteSum& sum = merged[function][line_of(file, site.stack, name)];
    sum.stacks += found.stacks;
    sum.waiting_stacks += found.waiting_stacks;
    sum.calls += found.calls;
    sum.ticks += found.ticks;
  }
  std::vector<SweptCallSite> rows;
  for (const auto& [called, lines] : merged) {
    double calls = 0, ticks = 0;
    for (const auto& [line, sum] : lines) calls += sum.calls, ticks += sum.ticks;
    size_t first = rows.size();
    for (const auto& [line, sum] : lines) {
      const auto& [stage, operation, category, function] = called;
      const auto& [caller, path, number] = line;
      rows.push_back({.stage = stage,
                      .operation = operation,
                      .category = category,
                      .function = function,
                      .caller = caller,
                      .file = path,
                      .line = number,
                      .stacks = sum.stacks,
                      .waiting_stacks = sum.waiting_stacks,
                      .share_of_calls = sum.calls / calls,
                      .share_of_ticks = sum.ticks / ticks,
                      .ticks = sum.ticks});
    }
    std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                     [](const SweptCallSite& a, const SweptCallSite& b) { return a.share_of_calls > b.share_of_calls; });
  }
  return rows;
}

}  // namespace rlscope
