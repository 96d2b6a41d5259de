// One function per table of the dict.
#include "sweep_dict.h"

#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "demangle.h"

namespace rlscope {
namespace {

constexpr size_t kPropertyNotesKept = 20;

// Python's copies of labels, one of each however many rows it is in.
class LabelTexts {
 public:
  Owned operator()(std::string_view label, bool is_mangled = false) {
    Owned& known = texts_[label.data()];
    if (!known) known = is_mangled ? text(demangled(std::string(label))) : text(label);
    return Owned(Py_NewRef(known.get()));
  }

 private:
  std::unordered_map<const char*, Owned> texts_;
};

Owned rows(const std::vector<BreakdownRow>& values, bool has_thread) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const BreakdownRow& row : values) {
    Owned category = text(category_label(row.category));
    Owned resource = text(resource_label(row.resource));
    if (has_thread) {
      append(list.get(), tuple(number(row.thread), label(row.phase), label(row.stage), label(row.operation),
                               std::move(category), std::move(resource), number(row.ticks)));
    } else {
      append(list.get(), tuple(label(row.phase), label(row.stage), label(row.operation), std::move(category),
                               std::move(resource), number(row.ticks)));
    }
  }
  return list;
}

Owned transitions(const std::vector<TransitionRow>& rows) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const TransitionRow& row : rows) {
    append(list.get(), tuple(label(row.stage), label(row.operation), text(category_label(row.from)),
                             text(category_label(row.to)), number(row.count)));
  }
  return list;
}

Owned phases(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const PhaseRow& row : result.phases) {
    append(list.get(), tuple(text(row.phase), number(row.start_ticks), number(row.end_ticks)));
  }
  return list;
}

Owned waits(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const WaitRow& row : result.waits) {
    append(list.get(), tuple(label(row.phase), label(row.name), number(row.count), number(row.ticks_in_operations),
                             number(row.ticks_in_loop), number(row.ticks)));
  }
  return list;
}

Owned outside(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const OutsideRow& row : result.outside) {
    append(list.get(), tuple(text(part_label(row.part)), text(category_label(row.category)),
                             text(resource_label(row.resource)), number(row.ticks)));
  }
  return list;
}

Owned tasks(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const TaskRow& row : result.tasks) {
    append(list.get(), tuple(label(row.operation), number(row.count), number(row.running_ticks), number(row.elapsed_ticks),
                             number(row.median_ticks), number(row.p99_ticks), number(row.longest_ticks)));
  }
  return list;
}

Owned cuda_calls(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const CudaCallRow& row : result.cuda_calls) {
    append(list.get(), tuple(text(row.name), checked(PyBool_FromLong(row.waits)), number(row.count)));
  }
  return list;
}

void put_sum(PyObject* dict, const std::string& kind, const WorkSum& sum) {
  put(dict, (kind + "_count").c_str(), number(sum.count));
  put(dict, (kind + "_ticks").c_str(), number(sum.ticks));
  if (kind != "kernel") put(dict, (kind + "_bytes").c_str(), number(sum.bytes));
}

Owned devices(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const DeviceRow& row : result.devices) {
    Owned dict = checked(PyDict_New());
    put(dict.get(), "device", number(row.device));
    put(dict.get(), "busy_ticks", number(row.busy_ticks));
    put_sum(dict.get(), "kernel", row.kernels);
    put_sum(dict.get(), "copy", row.copies);
    put_sum(dict.get(), "memset", row.memsets);
    append(list.get(), std::move(dict));
  }
  return list;
}

Owned device_operations(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const DeviceOperationRow& row : result.device_operations) {
    append(list.get(), tuple(number(row.device), label(row.stage), label(row.operation), number(row.busy_ticks),
                             number(row.kernels)));
  }
  return list;
}

Owned device_work(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const DeviceWorkRow& row : result.device_work) {
    append(list.get(), tuple(number(row.device), label(row.stage), label(row.operation), label(row.name, true),
                             number(row.sum.count), number(row.sum.ticks), number(row.sum.bytes)));
  }
  return list;
}

Owned streams(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const StreamSummary& stream : result.streams) {
    Owned dict = checked(PyDict_New());
    put(dict.get(), "stream", number(stream.stream));
    put(dict.get(), "thread_id", number(stream.thread_id));
    put(dict.get(), "events", number(stream.events));
    append(list.get(), std::move(dict));
  }
  return list;
}

Owned bounds(const OverheadParts& parts) { return tuple(number(parts[0]), number(parts[1]), number(parts[2])); }

Owned overhead_rows(const std::vector<OverheadRow>& values) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const OverheadRow& row : values) {
    append(list.get(), tuple(label(row.phase), label(row.stage), label(row.operation),
                             text(category_label(row.category)), text(resource_label(row.resource)),
                             bounds(row.parts)));
  }
  return list;
}

Owned correction(const SweepResult& result) {
  if (!result.correction) return Owned(Py_NewRef(Py_None));
  Owned dict = checked(PyDict_New());
  put(dict.get(), "removed", overhead_rows(result.correction->removed));
  put(dict.get(), "turned", overhead_rows(result.correction->turned));
  put(dict.get(), "uncorrectable", bounds(result.correction->uncorrectable));
  put(dict.get(), "charged", counts(result.correction->charged));
  put(dict.get(), "uncalibrated", counts(result.correction->uncalibrated));
  return dict;
}

Owned progress(const SweepResult& result) {
  if (!result.progress) return Owned(Py_NewRef(Py_None));
  const ProgressSummary& summary = *result.progress;
  Owned dict = checked(PyDict_New());
  put(dict.get(), "iterations", number(summary.iterations));
  put(dict.get(), "first_ticks", number(summary.first_ticks));
  put(dict.get(), "first_timesteps", number(summary.first_timesteps));
  put(dict.get(), "last_ticks", number(summary.last_ticks));
  put(dict.get(), "last_timesteps", number(summary.last_timesteps));
  put(dict.get(), "total_timesteps", number(summary.total_timesteps));
  put(dict.get(), "baseline_timesteps",
      summary.baseline_timesteps ? number(*summary.baseline_timesteps) : Owned(Py_NewRef(Py_None)));
  put(dict.get(), "evaluation_ticks", number(summary.evaluation_ticks));
  return dict;
}

Owned clock_pair(const ClockPair& pair) {
  return tuple(number(pair.ticks), number(pair.monotonic_ns), number(pair.realtime_ns));
}

std::vector<std::string> reasons_for_incompleteness(const TraceFile& file) {
  const FileHeader& header = file.header();
  std::vector<std::string> reasons;
  if (header.end_reason == EndReason::kFailed) {
    reasons.push_back("the trace could not be written to its end: " +
                      std::generic_category().message(static_cast<int>(header.stop_errno)));
  } else if (!file.is_finished()) {
    reasons.push_back("recording did not end in an orderly way: the process was killed or is still running");
  }
  if (header.dropped_records) reasons.push_back(std::to_string(header.dropped_records) + " records were dropped");
  if (header.dropped_device_records) {
    reasons.push_back(std::to_string(header.dropped_device_records) + " records of GPU work were dropped");
  }
  reasons.insert(reasons.end(), file.damage().begin(), file.damage().end());
  if (file.damage_count() > file.damage().size()) {
    reasons.push_back(std::to_string(file.damage_count() - file.damage().size()) + " more places are damaged");
  }
  return reasons;
}

}  // namespace

Owned properties(const TraceFile& file, PyObject* why) {
  Owned merged = checked(PyDict_New());
  if (file.properties().empty()) return merged;
  Owned json = checked(PyImport_ImportModule("json"));
  size_t refused = 0;
  for (const std::string& entry : file.properties()) {
    Owned source = text(entry);
    Owned parsed(PyObject_CallMethod(json.get(), "loads", "O", source.get()));
    if (parsed && PyDict_Check(parsed.get())) {
      check(PyDict_Update(merged.get(), parsed.get()));
      continue;
    }
    if (!parsed && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_RecursionError)) {
      throw PythonError{};
    }
    PyErr_Clear();
    if (++refused > kPropertyNotesKept) continue;
    append(why, text("properties of the process are not a JSON object: " + entry.substr(0, 80)));
  }
  if (refused > kPropertyNotesKept) {
    append(why, text(std::to_string(refused - kPropertyNotesKept) + " more properties are not JSON objects"));
  }
  return merged;
}

Owned to_dict(const TraceFile& file, const SweepResult& result, bool by_thread) {
  const FileHeader& header = file.header();
  Owned dict = checked(PyDict_New());
  put(dict.get(), "clock", number(static_cast<uint64_t>(header.clock)));
  put(dict.get(), "tick_shift", number(header.tick_shift));
  put(dict.get(), "pid", number(header.pid));
  put(dict.get(), "parent_pid", number(header.parent_pid));
  put(dict.get(), "stop_ticks", number(header.stop_ticks));
  put(dict.get(), "end_reason", number(static_cast<uint64_t>(header.end_reason)));
  put(dict.get(), "stop_errno", number(header.stop_errno));
  put(dict.get(), "exit_status", checked(PyLong_FromLong(header.exit_status)));
  put(dict.get(), "dropped_records", number(header.dropped_records));
  put(dict.get(), "misnested_operations", number(header.misnested_operations));
  put(dict.get(), "dropped_device_records", number(header.dropped_device_records));
  put(dict.get(), "unresolved_launches", number(header.unresolved_launches));
  put(dict.get(), "boot_id", checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(header.boot_id), 16)));
  put(dict.get(), "first_pair", clock_pair(header.first_pair));
  put(dict.get(), "last_pair", clock_pair(header.last_pair));
  put(dict.get(), "start_ticks", number(result.start_ticks));
  put(dict.get(), "end_ticks", number(result.end_ticks));
  put(dict.get(), "breakdown", rows(result.breakdown, false));
  if (by_thread) put(dict.get(), "threads", rows(result.threads, true));
  put(dict.get(), "transitions", transitions(result.transitions));
  put(dict.get(), "evaluation_transitions", transitions(result.evaluation_transitions));
  put(dict.get(), "events", counts(result.events));
  put(dict.get(), "crossings", counts(result.crossings));
  put(dict.get(), "phases", phases(result));
  put(dict.get(), "waits", waits(result));
  put(dict.get(), "tasks", tasks(result));
  put(dict.get(), "outside", outside(result));
  put(dict.get(), "beside_ticks", number(result.beside_ticks));
  put(dict.get(), "threads_in_operations", number(result.threads_in_operations));
  put(dict.get(), "cuda_calls", cuda_calls(result));
  put(dict.get(), "gpu", devices(result));
  put(dict.get(), "gpu_operations", device_operations(result));
  put(dict.get(), "device_work", device_work(result));
  put(dict.get(), "overhead", counts(result.overhead));
  put(dict.get(), "gaps", counts(result.gaps));
  put(dict.get(), "progress", progress(result));
  put(dict.get(), "correction", correction(result));
  put(dict.get(), "streams", streams(result));
  put(dict.get(), "bytes", number(file.bytes()));
  put(dict.get(), "overhead_ticks", number(file.switch_ticks()));
  Owned why = texts(reasons_for_incompleteness(file));
  put(dict.get(), "properties", properties(file, why.get()));
  put(dict.get(), "complete", checked(PyBool_FromLong(PyList_GET_SIZE(why.get()) == 0)));
  put(dict.get(), "why", std::move(why));
  return dict;
}

}  // namespace rlscope
