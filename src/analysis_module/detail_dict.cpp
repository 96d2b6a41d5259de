// Short tables become tuples, long ones columns of bytes.
#include "detail_dict.h"

#include <set>
#include <string_view>
#include <vector>

namespace rlscope {
namespace {

// One field of each item, as a column.
template <typename Value, typename Item>
Owned column(const std::vector<Item>& items, Value Item::*field) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(item.*field);
  return raw(values);
}

Owned functions(const std::vector<FunctionRow>& rows) {
  Owned list = checked(PyList_New(0));
  for (const FunctionRow& row : rows) {
    append(list.get(), tuple(text(row.stage), text(row.operation), text(category_label(row.category)),
                             text(resource_label(row.resource)), text(row.function), number(row.calls), number(row.ticks)));
  }
  return list;
}

Owned series(const std::vector<SeriesRow>& rows) {
  Owned list = checked(PyList_New(0));
  for (const SeriesRow& row : rows) {
    append(list.get(), tuple(text(row.stage), text(row.operation), text(category_label(row.category)),
                             text(resource_label(row.resource))));
  }
  return list;
}

Owned instances(const std::vector<InstanceRow>& rows) {
  Owned list = checked(PyList_New(0));
  for (const InstanceRow& row : rows) {
    Owned of_lengths = checked(PyList_New(0));
    for (const auto& [ticks, count] : row.instances.counts) append(of_lengths.get(), tuple(number(ticks), number(count)));
    Owned slowest = checked(PyList_New(0));
    for (const Instance& instance : row.instances.slowest) {
      if (instance.ticks) append(slowest.get(), tuple(number(instance.start_ticks), number(instance.ticks)));
    }
    append(list.get(), tuple(text(row.stage), text(row.operation), number(row.instances.count),
                             number(row.instances.ticks), std::move(of_lengths), std::move(slowest)));
  }
  return list;
}

}  // namespace

Owned to_dict(const DetailResult& detail) {
  Owned dict = checked(PyDict_New());
  put(dict.get(), "functions", functions(detail.functions));
  put(dict.get(), "series", series(detail.series));
  put(dict.get(), "bin", column(detail.bins, &BinEntry::bin));
  put(dict.get(), "bin_series", column(detail.bins, &BinEntry::series));
  put(dict.get(), "bin_ticks", column(detail.bins, &BinEntry::ticks));
  put(dict.get(), "iteration_starts", column(detail.iterations, &Iteration::start_ticks));
  put(dict.get(), "iteration_ends", column(detail.iterations, &Iteration::end_ticks));
  put(dict.get(), "iteration", column(detail.iteration_entries, &IterationEntry::iteration));
  put(dict.get(), "iteration_function", column(detail.iteration_entries, &IterationEntry::cell));
  put(dict.get(), "iteration_ticks", column(detail.iteration_entries, &IterationEntry::ticks));
  put(dict.get(), "instances", instances(detail.instances));
  return dict;
}

Owned to_dict(const TraceFile& file, const EventWindow& window) {
  std::set<uint32_t> used;
  Owned threads = checked(PyList_New(0));
  for (const ThreadEvents& events : window.threads) {
    used.insert(events.names.begin(), events.names.end());
    append(threads.get(), tuple(number(events.stream), raw(events.starts), raw(events.ends), raw(events.names),
                                raw(events.depths)));
  }
  Owned names = checked(PyDict_New());
  for (uint32_t id : used) {
    const Name& name = file.names()[id];
    bool is_boundary = name.kind == NameKind::kBoundary;
    const char* kind = is_boundary ? category_label(name.category) : name.kind == NameKind::kPhase ? "phase" : "operation";
    check(PyDict_SetItem(names.get(), number(id).get(), tuple(text(kind), text(name.text)).get()));
  }
  Owned dict = checked(PyDict_New());
  put(dict.get(), "end_ticks", number(window.end_ticks));
  put(dict.get(), "names", std::move(names));
  put(dict.get(), "threads", std::move(threads));
  return dict;
}

}  // namespace rlscope
