// Long tables become columns of bytes.
#include "swept_detail.h"

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

}  // namespace

Owned to_swept(const DetailResult& detail, PyObject* borders, ToPython& to_python) {
  Owned dict = checked(PyDict_New());
  put(dict.get(), "borders", Owned(Py_NewRef(borders)));
  put(dict.get(), "functions", to_python(detail.functions));
  put(dict.get(), "series", to_python(detail.series));
  put(dict.get(), "bins", column(detail.bins, &BinEntry::bin));
  put(dict.get(), "bin_series", column(detail.bins, &BinEntry::series));
  put(dict.get(), "bin_ticks", column(detail.bins, &BinEntry::ticks));
  put(dict.get(), "iteration_starts", column(detail.iterations, &Iteration::start_ticks));
  put(dict.get(), "iteration_ends", column(detail.iterations, &Iteration::end_ticks));
  put(dict.get(), "iterations", column(detail.iteration_entries, &IterationEntry::iteration));
  put(dict.get(), "iteration_functions", column(detail.iteration_entries, &IterationEntry::cell));
  put(dict.get(), "iteration_ticks", column(detail.iteration_entries, &IterationEntry::ticks));
  put(dict.get(), "instances", to_python(detail.instances));
  put(dict.get(), "phase_starts", column(detail.phases, &PhaseStart::ticks));
  put(dict.get(), "phases", column(detail.phases, &PhaseStart::phase));
  put(dict.get(), "phase_names", to_python(detail.phase_names));
  put(dict.get(), "samples", to_python(detail.samples));
  put(dict.get(), "frames", to_python(detail.frames));
  return data_class("rlscope.analysis.detail.swept", "SweptDetail", dict.get());
}

Owned to_swept(const TraceFile& file, EventWindow& window) {
  for (const ThreadEvents& events : window.threads) {
    for (uint32_t id : events.names) {
      const Name& name = file.names()[id];
      bool is_boundary = name.kind == NameKind::kBoundary;
      const char* kind = is_boundary ? category_label(name.category) : name.kind == NameKind::kPhase ? "phase" : "operation";
      window.names.try_emplace(id, EventName{kind, name.text});
    }
  }
  return ToPython()(window);
}

}  // namespace rlscope
