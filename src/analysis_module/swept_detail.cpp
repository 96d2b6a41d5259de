// Short tables become rows, long ones columns of bytes.
#include "swept_detail.h"

#include <set>
#include <string_view>
#include <vector>

#include "row_class.h"

namespace rlscope {
namespace {

struct DetailClass : RowClass {
  explicit DetailClass(const char* name) : RowClass(name, "rlscope.analysis.detail.swept") {}
};

// One field of each item, as a column.
template <typename Value, typename Item>
Owned column(const std::vector<Item>& items, Value Item::*field) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(item.*field);
  return raw(values);
}

Owned functions(const std::vector<FunctionRow>& rows) {
  LabelTexts label;
  return DetailClass("SweptFunction").list(rows, [&label](const FunctionRow& row) {
    return tuple(label(row.stage), label(row.operation), label(category_label(row.category)),
                 label(resource_label(row.resource)), label(row.function), number(row.calls), number(row.ticks));
  });
}

Owned series(const std::vector<SeriesRow>& rows) {
  LabelTexts label;
  return DetailClass("SweptSeries").list(rows, [&label](const SeriesRow& row) {
    return tuple(label(row.stage), label(row.operation), label(category_label(row.category)),
                 label(resource_label(row.resource)));
  });
}

Owned samples(const std::vector<SampleSpan>& rows) {
  LabelTexts label;
  return DetailClass("SweptSampleSpan").list(rows, [&label](const SampleSpan& row) {
    return tuple(label(row.name), number(row.start_ticks), number(row.end_ticks), number(row.queue_ticks),
                 number(row.version), number(row.staleness), number(row.tokens),
                 checked(PyBool_FromLong(row.is_discarded)));
  });
}

Owned frames(const std::vector<FrameRow>& rows) {
  LabelTexts label;
  return DetailClass("SweptFrame").list(rows, [&label](const FrameRow& row) {
    return tuple(label(row.stage), row.caller ? number(*row.caller) : Owned(Py_NewRef(Py_None)), label(row.function),
                 label(row.file), number(row.ticks));
  });
}

Owned texts(const std::vector<std::string_view>& strings) {
  Owned list = checked(PyList_New(0));
  for (std::string_view each : strings) append(list.get(), text(each));
  return list;
}

Owned instances(const std::vector<InstanceRow>& rows) {
  DetailClass make("SweptInstances"), make_length("SweptLength"), make_instance("SweptInstance");
  Owned list = checked(PyList_New(0));
  for (const InstanceRow& row : rows) {
    Owned of_lengths = checked(PyList_New(0));
    for (const auto& [ticks, count] : row.instances.counts) append(of_lengths.get(), make_length(number(ticks), number(count)));
    Owned slowest = checked(PyList_New(0));
    for (const Instance& instance : row.instances.slowest) {
      if (instance.ticks) append(slowest.get(), make_instance(number(instance.start_ticks), number(instance.ticks)));
    }
    append(list.get(), make(text(row.stage), text(row.operation), number(row.instances.count),
                             number(row.instances.ticks), std::move(of_lengths), std::move(slowest)));
  }
  return list;
}

}  // namespace

Owned to_swept(const DetailResult& detail, PyObject* borders) {
  Owned dict = checked(PyDict_New());
  put(dict.get(), "borders", Owned(Py_NewRef(borders)));
  put(dict.get(), "functions", functions(detail.functions));
  put(dict.get(), "series", series(detail.series));
  put(dict.get(), "bins", column(detail.bins, &BinEntry::bin));
  put(dict.get(), "bin_series", column(detail.bins, &BinEntry::series));
  put(dict.get(), "bin_ticks", column(detail.bins, &BinEntry::ticks));
  put(dict.get(), "iteration_starts", column(detail.iterations, &Iteration::start_ticks));
  put(dict.get(), "iteration_ends", column(detail.iterations, &Iteration::end_ticks));
  put(dict.get(), "iterations", column(detail.iteration_entries, &IterationEntry::iteration));
  put(dict.get(), "iteration_functions", column(detail.iteration_entries, &IterationEntry::cell));
  put(dict.get(), "iteration_ticks", column(detail.iteration_entries, &IterationEntry::ticks));
  put(dict.get(), "instances", instances(detail.instances));
  put(dict.get(), "phase_starts", column(detail.phases, &PhaseStart::ticks));
  put(dict.get(), "phases", column(detail.phases, &PhaseStart::phase));
  put(dict.get(), "phase_names", texts(detail.phase_names));
  put(dict.get(), "samples", samples(detail.samples));
  put(dict.get(), "frames", frames(detail.frames));
  return DetailClass("SweptDetail").from(dict.get());
}

Owned to_swept(const TraceFile& file, const EventWindow& window) {
  DetailClass make_thread("ThreadEvents"), make_name("EventName");
  std::set<uint32_t> used;
  Owned threads = checked(PyList_New(0));
  for (const ThreadEvents& events : window.threads) {
    used.insert(events.names.begin(), events.names.end());
    append(threads.get(), make_thread(number(events.stream), raw(events.starts), raw(events.ends), raw(events.names),
                                      raw(events.depths)));
  }
  Owned names = checked(PyDict_New());
  for (uint32_t id : used) {
    const Name& name = file.names()[id];
    bool is_boundary = name.kind == NameKind::kBoundary;
    const char* kind = is_boundary ? category_label(name.category) : name.kind == NameKind::kPhase ? "phase" : "operation";
    check(PyDict_SetItem(names.get(), number(id).get(), make_name(text(kind), text(name.text)).get()));
  }
  return DetailClass("EventWindow")(number(window.end_ticks), std::move(names), std::move(threads));
}

}  // namespace rlscope
