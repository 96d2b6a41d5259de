// The extension module rlscope._analysis: one function that sweeps a process file and returns its tables as a dict.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "sweep.h"

namespace {

using rlscope::BreakdownRow;
using rlscope::EndReason;
using rlscope::FileHeader;
using rlscope::SweepResult;
using rlscope::TraceFile;

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
  Owned operator()(std::string_view label) {
    Owned& known = texts_[label.data()];
    if (!known) known = text(label);
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
    Owned resource = text(rlscope::resource_label(row.category));
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

Owned transitions(const SweepResult& result) {
  LabelTexts label;
  Owned list = checked(PyList_New(0));
  for (const rlscope::TransitionRow& row : result.transitions) {
    append(list.get(), tuple(label(row.stage), label(row.operation), text(rlscope::category_label(row.from)),
                             text(rlscope::category_label(row.to)), number(row.count)));
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
  return dict;
}

Owned clock_pair(const rlscope::ClockPair& pair) {
  return tuple(number(pair.ticks), number(pair.monotonic_ns), number(pair.realtime_ns));
}

std::vector<std::string> reasons_for_incompleteness(const TraceFile& file) {
  const FileHeader& header = file.header();
  std::vector<std::string> reasons;
  if (header.end_reason == EndReason::kNone) {
    reasons.push_back("recording did not end in an orderly way: the process was killed or is still running");
  } else if (header.end_reason == EndReason::kFailed) {
    reasons.push_back("the trace could not be written to its end: " +
                      std::generic_category().message(static_cast<int>(header.stop_errno)));
  }
  if (header.dropped_records) reasons.push_back(std::to_string(header.dropped_records) + " records were dropped");
  reasons.insert(reasons.end(), file.damage().begin(), file.damage().end());
  if (file.damage_count() > file.damage().size()) {
    reasons.push_back(std::to_string(file.damage_count() - file.damage().size()) + " more places are damaged");
  }
  return reasons;
}

constexpr size_t kPropertyNotesKept = 20;

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
  put(dict.get(), "boot_id", checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(header.boot_id), 16)));
  put(dict.get(), "first_pair", clock_pair(header.first_pair));
  put(dict.get(), "last_pair", clock_pair(header.last_pair));
  put(dict.get(), "start_ticks", number(result.start_ticks));
  put(dict.get(), "end_ticks", number(result.end_ticks));
  put(dict.get(), "breakdown", rows(result.breakdown, false));
  if (by_thread) put(dict.get(), "threads", rows(result.threads, true));
  put(dict.get(), "transitions", transitions(result));
  put(dict.get(), "events", counts(result.events));
  put(dict.get(), "crossings", counts(result.crossings));
  put(dict.get(), "progress", progress(result));
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

PyObject* py_sweep(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "limit_ticks", "recover", "by_thread", nullptr};
  PyObject* path = nullptr;
  unsigned long long limit_ticks = 0;
  int recovers = 0;
  int by_thread = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|Kpp:sweep", const_cast<char**>(keywords), PyUnicode_FSConverter,
                                   &path, &limit_ticks, &recovers, &by_thread)) {
    return nullptr;
  }
  Owned path_bytes(path);
  try {
    std::unique_ptr<TraceFile> file;
    SweepResult result;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
      result = rlscope::sweep(*file, {limit_ticks, by_thread != 0});
    }
    return to_dict(*file, result, by_thread != 0).release();
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

PyMethodDef kMethods[] = {
    {"sweep", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_sweep)), METH_VARARGS | METH_KEYWORDS,
     "sweep(path, limit_ticks=0, recover=False, by_thread=False)\n--\n\n"
     "Analyzes one process file. _analysis.pyi says what the dict holds."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "rlscope._analysis", "The sweep over a process's trace file.", 0, kMethods,
                       nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__analysis() { return PyModule_Create(&kModule); }
