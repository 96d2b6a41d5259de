// The extension module rlscope._analysis: sweeps a process file into a dict of its tables, tells its properties before,
// adds up how long devices worked for several processes, and gives the pieces of work of one.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "demangle.h"
#include "device_intervals.h"
#include "device_union.h"
#include "stages.h"
#include "sweep.h"

namespace {

using rlscope::BreakdownRow;
using rlscope::EndReason;
using rlscope::FileHeader;
using rlscope::GpuAttribution;
using rlscope::SweepResult;
using rlscope::TraceFile;
using rlscope::UnionInput;

struct Release {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

// A Python error is set: unwinds to the function that Python called.
struct PythonError {};

Owned checked(PyObject* object) {
  if (!object) throw PythonError{};
  return Owned(object);
}

void check(int status) {
  if (status < 0) throw PythonError{};
}

// Names come from the recorded program or from a damaged file, so they may be anything.
Owned text(std::string_view value) {
  return checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

// Python's copies of labels, one of each however many rows it is in.
class LabelTexts {
 public:
  Owned operator()(std::string_view label, bool is_mangled = false) {
    Owned& known = texts_[label.data()];
    if (!known) known = is_mangled ? text(rlscope::demangled(std::string(label))) : text(label);
    return Owned(Py_NewRef(known.get()));
  }

 private:
  std::unordered_map<const char*, Owned> texts_;
};

Owned number(uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }

void put(PyObject* dict, const char* key, Owned value) { check(PyDict_SetItemString(dict, key, value.get())); }

void append(PyObject* list, Owned value) { check(PyList_Append(list, value.get())); }

template <typename... Items>
Owned tuple(Items... items) {
  Owned result = checked(PyTuple_New(sizeof...(items)));
  Py_ssize_t index = 0;
  (PyTuple_SET_ITEM(result.get(), index++, items.release()), ...);
  return result;
}

Owned texts(const std::vector<std::string>& values) {
  Owned list = checked(PyList_New(0));
  for (const std::string& value : values) append(list.get(), text(value));
  return list;
}

Owned counts(const std::map<std::string, uint64_t>& values) {
  Owned dict = checked(PyDict_New());
  for (const auto& [key, value] : values) check(PyDict_SetItem(dict.get(), text(key).get(), number(value).get()));
  return dict;
}

Owned rows(const std::vector<BreakdownRow>& values, bool has_thread) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const BreakdownRow& row : values) {
    Owned category = text(rlscope::category_label(row.category));
    Owned resource = text(rlscope::resource_label(row.resource));
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

Owned transitions(const std::vector<rlscope::TransitionRow>& rows) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::TransitionRow& row : rows) {
    append(list.get(), tuple(label(row.stage), label(row.operation), text(rlscope::category_label(row.from)),
                             text(rlscope::category_label(row.to)), number(row.count)));
  }
  return list;
}

Owned phases(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const rlscope::PhaseRow& row : result.phases) {
    append(list.get(), tuple(text(row.phase), number(row.start_ticks), number(row.end_ticks)));
  }
  return list;
}

Owned waits(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::WaitRow& row : result.waits) {
    append(list.get(), tuple(label(row.phase), label(row.name), number(row.count), number(row.ticks_in_operations),
                             number(row.ticks_in_loop), number(row.ticks)));
  }
  return list;
}

Owned outside(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const rlscope::OutsideRow& row : result.outside) {
    append(list.get(), tuple(text(rlscope::part_label(row.part)), text(rlscope::category_label(row.category)),
                             text(rlscope::resource_label(row.resource)), number(row.ticks)));
  }
  return list;
}

Owned tasks(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::TaskRow& row : result.tasks) {
    append(list.get(), tuple(label(row.operation), number(row.count), number(row.running_ticks), number(row.elapsed_ticks),
                             number(row.median_ticks), number(row.p99_ticks), number(row.longest_ticks)));
  }
  return list;
}

Owned cuda_calls(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const rlscope::CudaCallRow& row : result.cuda_calls) {
    append(list.get(), tuple(text(row.name), checked(PyBool_FromLong(row.waits)), number(row.count)));
  }
  return list;
}

void put_sum(PyObject* dict, const std::string& kind, const rlscope::WorkSum& sum) {
  put(dict, (kind + "_count").c_str(), number(sum.count));
  put(dict, (kind + "_ticks").c_str(), number(sum.ticks));
  if (kind != "kernel") put(dict, (kind + "_bytes").c_str(), number(sum.bytes));
}

Owned devices(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const rlscope::DeviceRow& row : result.devices) {
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
  for (const rlscope::DeviceOperationRow& row : result.device_operations) {
    append(list.get(), tuple(number(row.device), label(row.stage), label(row.operation), number(row.busy_ticks),
                             number(row.kernels)));
  }
  return list;
}

Owned device_work(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::DeviceWorkRow& row : result.device_work) {
    append(list.get(), tuple(number(row.device), label(row.stage), label(row.operation), label(row.name, true),
                             number(row.sum.count), number(row.sum.ticks), number(row.sum.bytes)));
  }
  return list;
}

Owned streams(const SweepResult& result) {
  Owned list = checked(PyList_New(0));
  for (const rlscope::StreamSummary& stream : result.streams) {
    Owned dict = checked(PyDict_New());
    put(dict.get(), "stream", number(stream.stream));
    put(dict.get(), "thread_id", number(stream.thread_id));
    put(dict.get(), "events", number(stream.events));
    append(list.get(), std::move(dict));
  }
  return list;
}

Owned bounds(const rlscope::OverheadParts& parts) { return tuple(number(parts[0]), number(parts[1]), number(parts[2])); }

Owned overhead_rows(const std::vector<rlscope::OverheadRow>& values) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::OverheadRow& row : values) {
    append(list.get(), tuple(label(row.phase), label(row.stage), label(row.operation),
                             text(rlscope::category_label(row.category)), text(rlscope::resource_label(row.resource)),
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
  const rlscope::ProgressSummary& summary = *result.progress;
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

Owned clock_pair(const rlscope::ClockPair& pair) {
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

constexpr size_t kPropertyNotesKept = 20;
constexpr double kMostCostTicks = 1e12;
constexpr size_t kMostBins = 1 << 20;

// Later entries of the catalog replace the keys of earlier ones. One that is no JSON object becomes a reason in `why`.
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

void raise_format_error(const char* message) {
  Owned errors(PyImport_ImportModule("rlscope.errors"));
  if (!errors) return;
  Owned type(PyObject_GetAttrString(errors.get(), "TraceFormatError"));
  Owned sentence(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
  if (type && sentence) PyErr_SetObject(type.get(), sentence.get());
}

void raise_os_error(const std::system_error& error, PyObject* path) {
  errno = error.code().value();
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

// Lets other Python threads run for as long as it exists.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `work` and turns what it throws into Python errors. `path`: of the file that is read, for the system's errors.
template <typename Work>
PyObject* with_python_errors(PyObject* path, Work work) {
  try {
    return work();
  } catch (const PythonError&) {
  } catch (const rlscope::TraceDamage& damage) {
    raise_format_error(damage.what());
  } catch (const std::system_error& error) {
    raise_os_error(error, path);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

rlscope::OverheadParts to_parts(const double (&ticks)[rlscope::kBounds]) {
  rlscope::OverheadParts parts;
  for (size_t i = 0; i < rlscope::kBounds; i++) {
    if (!(ticks[i] >= 0 && ticks[i] < kMostCostTicks)) {
      PyErr_SetString(PyExc_ValueError, "a cost is a number of ticks, not negative and less than a million million");
      throw PythonError{};
    }
    parts[i] = static_cast<uint64_t>(std::llround(ticks[i] * rlscope::kPartsPerTick));
  }
  return parts;
}

// A dict from key to ((least, expected, most) inside, the same outside), in ticks.
rlscope::CostTable to_costs(PyObject* dict) {
  rlscope::CostTable costs;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char* name = PyUnicode_AsUTF8(key);
    double inside[rlscope::kBounds], outside[rlscope::kBounds];
    if (!name || !PyArg_Parse(value, "((ddd)(ddd)):costs", inside, inside + 1, inside + 2, outside, outside + 1,
                              outside + 2)) {
      throw PythonError{};
    }
    costs[name] = {to_parts(inside), to_parts(outside)};
  }
  return costs;
}

PyObject* py_sweep(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "limit_ticks", "recover", "by_thread", "coincident", "costs", nullptr};
  PyObject* path = nullptr;
  unsigned long long limit_ticks = 0;
  int recovers = 0;
  int by_thread = 0;
  int coincident = 0;
  PyObject* cost_dict = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|KpppO:sweep", const_cast<char**>(keywords), PyUnicode_FSConverter,
                                   &path, &limit_ticks, &recovers, &by_thread, &coincident, &cost_dict)) {
    return nullptr;
  }
  Owned path_bytes(path);
  if (cost_dict != Py_None && !PyDict_Check(cost_dict)) {
    return PyErr_Format(PyExc_TypeError, "sweep() takes costs in a dict or None, not %R", cost_dict);
  }
  return with_python_errors(path, [&] {
    rlscope::CostTable costs;
    if (cost_dict != Py_None) costs = to_costs(cost_dict);
    std::unique_ptr<TraceFile> file;
    SweepResult result;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
      auto attribution = coincident ? GpuAttribution::kCoincident : GpuAttribution::kLaunch;
      result = rlscope::sweep(*file, {limit_ticks, by_thread != 0, attribution, cost_dict != Py_None ? &costs : nullptr});
    }
    return to_dict(*file, result, by_thread != 0).release();
  });
}

PyObject* py_properties(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "recover", nullptr};
  PyObject* path = nullptr;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|p:properties", const_cast<char**>(keywords), PyUnicode_FSConverter,
                                   &path, &recovers)) {
    return nullptr;
  }
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    std::unique_ptr<TraceFile> file;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
    }
    Owned why = checked(PyList_New(0));  // the sweep says it
    return properties(*file, why.get()).release();
  });
}

uint64_t to_uint64(PyObject* value) {
  uint64_t result = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) throw PythonError{};
  return result;
}

// One item of `device_union`'s list: (path, start_ticks, end_ticks, clock, devices).
UnionInput to_union_input(PyObject* item) {
  PyObject *path, *start, *end, *from_ticks, *to, *numerator, *denominator, *places;
  if (!PyArg_ParseTuple(item, "O&OO(OOOO)O!:device_union", PyUnicode_FSConverter, &path, &start, &end, &from_ticks, &to,
                        &numerator, &denominator, &PyDict_Type, &places)) {
    throw PythonError{};
  }
  Owned path_bytes(path);
  UnionInput input{PyBytes_AS_STRING(path),
                   to_uint64(start),
                   to_uint64(end),
                   {to_uint64(from_ticks), to_uint64(to), to_uint64(numerator), to_uint64(denominator)},
                   {}};
  PyObject *device, *place;
  for (Py_ssize_t at = 0; PyDict_Next(places, &at, &device, &place);) {
    input.places[static_cast<uint32_t>(to_uint64(device))] = to_uint64(place);
  }
  return input;
}

// A tuple (start, width, count) of integers.
rlscope::Bins to_bins(PyObject* given) {
  PyObject *start, *width, *count;
  if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 3) {
    PyErr_Format(PyExc_TypeError, "device_union() takes bins as a tuple (start, width, count) or None, not %R", given);
    throw PythonError{};
  }
  if (!PyArg_ParseTuple(given, "OOO", &start, &width, &count)) throw PythonError{};
  rlscope::Bins bins{to_uint64(start), to_uint64(width), to_uint64(count)};
  if (bins.width == 0 || bins.count > kMostBins) {
    PyErr_Format(PyExc_ValueError, "bins are wider than 0 and at most %zu, but (start, width, count) is %R", kMostBins,
                 given);
    throw PythonError{};
  }
  return bins;
}

Owned numbers(const std::vector<uint64_t>& values) {
  Owned list = checked(PyList_New(0));
  for (uint64_t value : values) append(list.get(), number(value));
  return list;
}

PyObject* py_device_union(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"processes", "recover", "bins", nullptr};
  PyObject* given = nullptr;
  int recovers = 0;
  PyObject* given_bins = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pO:device_union", const_cast<char**>(keywords), &given, &recovers,
                                   &given_bins)) {
    return nullptr;
  }
  return with_python_errors(nullptr, [&] {
    Owned items = checked(PySequence_Fast(given, "processes must be a sequence"));
    std::vector<UnionInput> inputs;
    size_t places = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) {
      inputs.push_back(to_union_input(PySequence_Fast_GET_ITEM(items.get(), i)));
      for (const auto& [device, place] : inputs.back().places) places = std::max(places, place + 1);
    }
    if (given_bins == Py_None) {
      std::vector<uint64_t> busy;
      {
        WithoutGil released;
        busy = rlscope::busy_union(inputs, places, recovers != 0);
      }
      return numbers(busy).release();
    }
    rlscope::Bins bins = to_bins(given_bins);
    std::vector<std::vector<uint64_t>> busy;
    {
      WithoutGil released;
      busy = rlscope::busy_union_in_bins(inputs, places, bins, recovers != 0);
    }
    Owned result = checked(PyList_New(0));
    for (const std::vector<uint64_t>& of_device : busy) append(result.get(), numbers(of_device));
    return result.release();
  });
}

template <typename Item>
Owned raw(const std::vector<Item>& values) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                           static_cast<Py_ssize_t>(values.size() * sizeof(Item))));
}

// Stage and operation of each launch by its id, named as the table of the sweep names them.
Owned launch_labels(const TraceFile& file) {
  Owned dict = checked(PyDict_New());
  for (const rlscope::LaunchEntry& launch : file.launches()) {
    if (launch.id == 0) continue;
    Owned operation = text(launch.operation ? file.names()[launch.operation].text : rlscope::kStageLabels[0]);
    Owned labels = tuple(text(rlscope::kStageLabels[static_cast<size_t>(launch.stage)]), std::move(operation));
    check(PyDict_SetItem(dict.get(), number(launch.id).get(), labels.get()));
  }
  return dict;
}

PyObject* py_device_intervals(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "start_ticks", "end_ticks", "recover", nullptr};
  PyObject *path, *start, *end;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&OO|p:device_intervals", const_cast<char**>(keywords),
                                   PyUnicode_FSConverter, &path, &start, &end, &recovers)) {
    return nullptr;
  }
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    uint64_t start_ticks = to_uint64(start);
    uint64_t end_ticks = to_uint64(end);
    std::unique_ptr<TraceFile> file;
    rlscope::DeviceIntervals found;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
      found = rlscope::device_intervals(*file, start_ticks, end_ticks);
    }
    Owned dict = checked(PyDict_New());
    put(dict.get(), "starts", raw(found.starts));
    put(dict.get(), "ends", raw(found.ends));
    put(dict.get(), "devices", raw(found.devices));
    put(dict.get(), "launches", raw(found.launches));
    put(dict.get(), "work", raw(found.work));
    put(dict.get(), "labels", launch_labels(*file));
    return dict.release();
  });
}

template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kMethods[] = {
    {"sweep", as_method(py_sweep), METH_VARARGS | METH_KEYWORDS,
     "sweep(path, limit_ticks=0, recover=False, by_thread=False, coincident=False, costs=None)\n--\n\n"
     "Analyzes one process file. _analysis.pyi says what the dict holds."},
    {"properties", as_method(py_properties), METH_VARARGS | METH_KEYWORDS,
     "properties(path, recover=False)\n--\n\nWhat a process file says about its process."},
    {"device_union", as_method(py_device_union), METH_VARARGS | METH_KEYWORDS,
     "device_union(processes, recover=False, bins=None)\n--\n\n"
     "Adds up how long devices worked for any of several processes. _analysis.pyi says what the list holds."},
    {"device_intervals", as_method(py_device_intervals), METH_VARARGS | METH_KEYWORDS,
     "device_intervals(path, start_ticks, end_ticks, recover=False)\n--\n\n"
     "The device work of one process, piece by piece. _analysis.pyi says what the dict holds."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "rlscope._analysis", "Reads the trace files of processes.", 0, kMethods,
                       nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__analysis() { return PyModule_Create(&kModule); }
