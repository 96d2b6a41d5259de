// What Python gives to a walk over slices, and how it gets them.
#include "slice_functions.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "demangle.h"
#include "perfetto_writer.h"
#include "python_errors.h"
#include "python_rows.h"
#include "slice_batches.h"
#include "vocabulary.h"

namespace rlscope {
namespace {

// Holds Python's lock for as long as it exists, in a thread that had let others run.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// (start_ticks, end_ticks, clock, origin_ns)
SliceWindow to_window(PyObject* given) {
  PyObject *start, *end, *from_ticks, *to, *numerator, *denominator, *origin;
  if (!PyArg_ParseTuple(given, "OO(OOOO)O:a window", &start, &end, &from_ticks, &to, &numerator, &denominator, &origin)) {
    throw PythonError{};
  }
  return {to_uint64(start),
          to_uint64(end),
          {to_uint64(from_ticks), to_uint64(to), to_uint64(numerator), to_uint64(denominator)},
          to_uint64(origin)};
}

// A dict from label to number.
std::map<std::string, uint64_t> to_communicators(PyObject* dict) {
  std::map<std::string, uint64_t> found;
  PyObject *label, *number;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &label, &number);) {
    const char* name = PyUnicode_AsUTF8(label);
    if (!name) throw PythonError{};
    found[name] = to_uint64(number);
  }
  return found;
}

std::string name_text(const TraceFile& file, uint32_t id) {
  const Name& name = file.names()[id];
  return name.kind == NameKind::kDeviceWork ? demangled(name.text) : name.text;
}

void call(PyObject* function, Owned argument) { checked(PyObject_CallOneArg(function, argument.get())); }

// Gives Python our batches, each with the names that come in it first.
class BatchMaker {
 public:
  BatchMaker(const TraceFile& file, PyObject* on_batch) : file_(file), on_batch_(on_batch) {}

  void operator()(SliceBatch batch) {
    named_.resize(file_.names().size());
    for (const std::vector<uint32_t>* ids : {&batch.names, &batch.operations}) {
      for (uint32_t id : *ids) {
        if (id == 0 || named_[id]) continue;
        named_[id] = true;
        batch.new_names.emplace(id, name_text(file_, id));
      }
    }
    WithGil held;
    call(on_batch_, ToPython()(batch));
  }

 private:
  const TraceFile& file_;
  PyObject* on_batch_;
  std::vector<bool> named_;
};

// Opens the file of a process and lets `walk` go through its slices; returns their tracks. Takes over the path.
template <typename WalkFile>
PyObject* tracks_of(PyObject* path, PyObject* window, PyObject* communicators, bool recovers, WalkFile walk) {
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    SliceWindow given = to_window(window);
    std::map<std::string, uint64_t> numbers = to_communicators(communicators);
    SliceTracks found;
    {
      WithoutGil released;
      TraceFile file(PyBytes_AS_STRING(path), recovers);
      found = walk(file, given, numbers);
    }
    return ToPython()(found).release();
  });
}

}  // namespace

PyObject* py_slice_batches(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "window", "communicators", "most_slices", "on_batch", "recover", nullptr};
  PyObject *path, *window, *communicators, *on_batch;
  Py_ssize_t most_slices;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O!O!nO|p:slice_batches", const_cast<char**>(keywords),
                                   PyUnicode_FSConverter, &path, &PyTuple_Type, &window, &PyDict_Type, &communicators,
                                   &most_slices, &on_batch, &recovers)) {
    return nullptr;
  }
  return tracks_of(path, window, communicators, recovers != 0, [&](TraceFile& file, const SliceWindow& given, const auto& numbers) {
    BatchSink sink(static_cast<size_t>(std::max<Py_ssize_t>(most_slices, 1)), BatchMaker(file, on_batch));
    SliceTracks found = walk_slices(file, given, numbers, sink);
    sink.flush();
    return found;
  });
}

PyObject* py_perfetto_slices(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "window", "communicators", "first_number", "write", "recover", nullptr};
  PyObject *path, *window, *communicators, *write;
  unsigned long long first_number;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O!O!KO|p:perfetto_slices", const_cast<char**>(keywords),
                                   PyUnicode_FSConverter, &path, &PyTuple_Type, &window, &PyDict_Type, &communicators,
                                   &first_number, &write, &recovers)) {
    return nullptr;
  }
  return tracks_of(path, window, communicators, recovers != 0, [&](TraceFile& file, const SliceWindow& given, const auto& numbers) {
    auto name_of = [&file](uint32_t id) {
      WithGil held;
      Owned name = text(name_text(file, id));
      Py_ssize_t bytes = 0;
      const char* utf8 = PyUnicode_AsUTF8AndSize(name.get(), &bytes);
      if (!utf8) throw PythonError{};
      return std::string(utf8, static_cast<size_t>(bytes));
    };
    auto write_bytes = [write](std::string_view bytes) {
      WithGil held;
      call(write, checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()))));
    };
    PerfettoWriter writer(file, first_number, name_of, write_bytes);
    SliceTracks found = walk_slices(file, given, numbers, writer);
    writer.flush();
    return found;
  });
}

}  // namespace rlscope
