// The extension module rlscope._analysis: sweeps a process file into its tables, tells its properties before,
// and gives its pieces of device work and its events. What several processes' devices did is in device_functions.cpp, slices
// for other programs are in slice_functions.cpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "chunk_reader.h"
#include "communication_intervals.h"
#include "crc32c.h"
#include "demangle.h"
#include "device_functions.h"
#include "device_intervals.h"
#include "last_places.h"
#include "python_errors.h"
#include "python_rows.h"
#include "python_values.h"
#include "slice_functions.h"
#include "sweep.h"
#include "swept.h"
#include "swept_detail.h"
#include "vocabulary.h"

namespace rlscope {
namespace {

constexpr double kMostCostTicks = 1e12;

OverheadParts to_parts(const double (&ticks)[kBounds]) {
  OverheadParts parts;
  for (size_t i = 0; i < kBounds; i++) {
    if (!(ticks[i] >= 0 && ticks[i] < kMostCostTicks)) {
      PyErr_SetString(PyExc_ValueError, "a cost is a number of ticks, not negative and less than a million million");
      throw PythonError{};
    }
    parts[i] = static_cast<uint64_t>(std::llround(ticks[i] * kPartsPerTick));
  }
  return parts;
}

// A dict from key to ((least, expected, most) inside, the same outside), in ticks.
CostTable to_costs(PyObject* dict) {
  CostTable costs;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char* name = PyUnicode_AsUTF8(key);
    double inside[kBounds], outside[kBounds];
    if (!name || !PyArg_Parse(value, "((ddd)(ddd)):costs", inside, inside + 1, inside + 2, outside, outside + 1,
                              outside + 2)) {
      throw PythonError{};
    }
    costs[name] = {to_parts(inside), to_parts(outside)};
  }
  return costs;
}

// From bytes: 8 of each, in ascending order.
std::vector<uint64_t> to_borders(PyObject* given) {
  if (!PyBytes_Check(given) || PyBytes_GET_SIZE(given) % sizeof(uint64_t)) {
    PyErr_SetString(PyExc_TypeError, "sweep() takes borders as bytes, 8 of each, or None");
    throw PythonError{};
  }
  std::vector<uint64_t> borders(static_cast<size_t>(PyBytes_GET_SIZE(given)) / sizeof(uint64_t));
  std::memcpy(borders.data(), PyBytes_AS_STRING(given), borders.size() * sizeof(uint64_t));
  if (borders.size() > kMostBins || !std::is_sorted(borders.begin(), borders.end())) {
    PyErr_Format(PyExc_ValueError, "borders are in ascending order and at most %zu", kMostBins);
    throw PythonError{};
  }
  return borders;
}

PyObject* py_sweep(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "limit_ticks", "recover", "by_thread", "coincident", "costs", "borders",
                                   "since_ticks", "decodes_ahead", nullptr};
  PyObject* path = nullptr;
  unsigned long long limit_ticks = 0, since_ticks = 0;
  int recovers = 0;
  int by_thread = 0;
  int coincident = 0;
  int decodes_ahead = 0;
  PyObject* cost_dict = Py_None;
  PyObject* border_bytes = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|KpppOOKp:sweep", const_cast<char**>(keywords), PyUnicode_FSConverter,
                                   &path, &limit_ticks, &recovers, &by_thread, &coincident, &cost_dict, &border_bytes,
                                   &since_ticks, &decodes_ahead)) {
    return nullptr;
  }
  Owned path_bytes(path);
  if (cost_dict != Py_None && !PyDict_Check(cost_dict)) {
    return PyErr_Format(PyExc_TypeError, "sweep() takes costs in a dict or None, not %R", cost_dict);
  }
  if (since_ticks && (cost_dict != Py_None || border_bytes != Py_None)) {
    PyErr_SetString(PyExc_ValueError, "sweep() takes since_ticks without costs and borders");
    return nullptr;
  }
  return with_python_errors(path, [&] {
    CostTable costs;
    if (cost_dict != Py_None) costs = to_costs(cost_dict);
    std::vector<uint64_t> borders;
    if (border_bytes != Py_None) borders = to_borders(border_bytes);
    std::unique_ptr<TraceFile> file;
    SweepResult result;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
      auto attribution = coincident ? GpuAttribution::kCoincident : GpuAttribution::kLaunch;
      SweepOptions options{limit_ticks, by_thread != 0, attribution, cost_dict != Py_None ? &costs : nullptr,
                           border_bytes != Py_None ? &borders : nullptr};
      options.since_ticks = since_ticks;
      options.decodes_ahead = decodes_ahead != 0;
      result = sweep(*file, options);
    }
    return to_swept(*file, result, border_bytes).release();
  });
}

PyObject* py_header(PyObject*, PyObject* args) {
  PyObject* path = nullptr;
  if (!PyArg_ParseTuple(args, "O&:header", PyUnicode_FSConverter, &path)) return nullptr;
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    FileHeader header = TraceFile::header_of(PyBytes_AS_STRING(path));
    return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&header), sizeof header)).release();
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

// Stage and operation of each launch site by its id, named as the table of the sweep names them.
Owned launch_site_labels(const TraceFile& file) {
  Owned dict = checked(PyDict_New());
  for (const LaunchSite& launch_site : file.launch_sites()) {
    if (launch_site.id == 0) continue;
    Owned operation = text(launch_site.operation ? file.names()[launch_site.operation].text : kStageLabels[0]);
    Owned labels = tuple(text(kStageLabels[static_cast<size_t>(launch_site.stage)]), std::move(operation));
    check(PyDict_SetItem(dict.get(), number(launch_site.id).get(), labels.get()));
  }
  return dict;
}

// What `find` finds in a process file between two times that Python gave, as `convert` makes it Python's; takes over
// the path.
template <typename Find, typename Convert>
PyObject* between(PyObject* path, PyObject* start, PyObject* end, bool recovers, Find find, Convert convert) {
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    uint64_t start_ticks = to_uint64(start);
    uint64_t end_ticks = to_uint64(end);
    std::unique_ptr<TraceFile> file;
    decltype(find(*file, start_ticks, end_ticks)) found;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers);
      found = find(*file, start_ticks, end_ticks);
    }
    return convert(*file, found).release();
  });
}

// The same of a function that takes nothing else; the format says its name, too.
template <typename Find, typename Convert>
PyObject* intervals(PyObject* args, PyObject* kwargs, const char* format, Find find, Convert convert) {
  static const char* keywords[] = {"path", "start_ticks", "end_ticks", "recover", nullptr};
  PyObject *path, *start, *end;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(keywords), PyUnicode_FSConverter, &path, &start,
                                   &end, &recovers)) {
    return nullptr;
  }
  return between(path, start, end, recovers != 0, find, convert);
}

PyObject* py_device_intervals(PyObject*, PyObject* args, PyObject* kwargs) {
  auto convert = [](const TraceFile& file, const DeviceIntervals& found) {
    Owned dict = checked(PyDict_New());
    put(dict.get(), "starts", raw(found.starts));
    put(dict.get(), "ends", raw(found.ends));
    put(dict.get(), "devices", raw(found.devices));
    put(dict.get(), "launch_sites", raw(found.launch_sites));
    put(dict.get(), "work", raw(found.work));
    put(dict.get(), "labels", launch_site_labels(file));
    return dict;
  };
  return intervals(args, kwargs, "O&OO|p:device_intervals", device_intervals, convert);
}

// As they stand in the source, by id.
Owned work_names(const TraceFile& file, const std::vector<uint32_t>& ids) {
  Owned dict = checked(PyDict_New());
  for (uint32_t id : std::set<uint32_t>(ids.begin(), ids.end())) {
    check(PyDict_SetItem(dict.get(), number(id).get(), text(demangled(file.names()[id].text)).get()));
  }
  return dict;
}

PyObject* py_communication_intervals(PyObject*, PyObject* args, PyObject* kwargs) {
  auto convert = [](const TraceFile& file, const CommunicationIntervals& found) {
    Owned dict = checked(PyDict_New());
    put(dict.get(), "starts", raw(found.starts));
    put(dict.get(), "ends", raw(found.ends));
    put(dict.get(), "devices", raw(found.devices));
    put(dict.get(), "queues", raw(found.queues));
    put(dict.get(), "name_ids", raw(found.names));
    put(dict.get(), "exposed_starts", raw(found.exposed_starts));
    put(dict.get(), "exposed_ends", raw(found.exposed_ends));
    put(dict.get(), "exposed_pieces", raw(found.exposed_pieces));
    put(dict.get(), "names", work_names(file, found.names));
    return dict;
  };
  return intervals(args, kwargs, "O&OO|p:communication_intervals", communication_intervals, convert);
}

template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyObject* py_event_window(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "start_ticks", "end_ticks", "most_events", "recover", nullptr};
  PyObject *path, *start, *end;
  Py_ssize_t most_events;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&OOn|p:event_window", const_cast<char**>(keywords),
                                   PyUnicode_FSConverter, &path, &start, &end, &most_events, &recovers)) {
    return nullptr;
  }
  auto find = [&](TraceFile& file, uint64_t start_ticks, uint64_t end_ticks) {
    return event_window(file, start_ticks, end_ticks, static_cast<size_t>(std::max<Py_ssize_t>(most_events, 1)));
  };
  return between(path, start, end, recovers != 0, find,
                 [](const TraceFile& file, EventWindow& found) { return to_swept(file, found); });
}

PyObject* py_last_places(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path", "recover", nullptr};
  PyObject* path = nullptr;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|p:last_places", const_cast<char**>(keywords), PyUnicode_FSConverter,
                                   &path, &recovers)) {
    return nullptr;
  }
  Owned path_bytes(path);
  return with_python_errors(path, [&] {
    std::unique_ptr<TraceFile> file;
    ProcessPlaces found;
    {
      WithoutGil released;
      file = std::make_unique<TraceFile>(PyBytes_AS_STRING(path), recovers != 0);
      found = last_places(*file);
    }
    return ToPython()(found).release();
  });
}

PyObject* py_crc32c(PyObject*, PyObject* args) {
  Py_buffer data;
  unsigned int crc = 0;
  if (!PyArg_ParseTuple(args, "y*|I", &data, &crc)) return nullptr;
  PyObject* result = PyLong_FromUnsignedLong(crc32c(crc, data.buf, static_cast<size_t>(data.len)));
  PyBuffer_Release(&data);
  return result;
}

PyObject* py_bytes_read(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(bytes_read()); }

PyMethodDef kMethods[] = {
    {"sweep", as_method(py_sweep), METH_VARARGS | METH_KEYWORDS,
     "sweep(path, limit_ticks=0, recover=False, by_thread=False, coincident=False, costs=None, borders=None, "
     "since_ticks=0, decodes_ahead=False)\n--\n\n"
     "Analyzes one process file: returns a rlscope.analysis.swept.Swept."},
    {"header", py_header, METH_VARARGS,
     "header(path)\n--\n\nThe bytes of a process file's header, which has been checked."},
    {"properties", as_method(py_properties), METH_VARARGS | METH_KEYWORDS,
     "properties(path, recover=False)\n--\n\nWhat a process file says about its process."},
    {"device_union", as_method(py_device_union), METH_VARARGS | METH_KEYWORDS, kDeviceUnionHelp},
    {"device_sharing", as_method(py_device_sharing), METH_VARARGS | METH_KEYWORDS, kDeviceSharingHelp},
    {"device_idle", as_method(py_device_idle), METH_VARARGS | METH_KEYWORDS, kDeviceIdleHelp},
    {"communication_intervals", as_method(py_communication_intervals), METH_VARARGS | METH_KEYWORDS,
     "communication_intervals(path, start_ticks, end_ticks, recover=False)\n--\n\n"
     "Lists what devices communicated, and when they did nothing else. _analysis.pyi says what the dict holds."},
    {"device_intervals", as_method(py_device_intervals), METH_VARARGS | METH_KEYWORDS,
     "device_intervals(path, start_ticks, end_ticks, recover=False)\n--\n\n"
     "The device work of one process, piece by piece. _analysis.pyi says what the dict holds."},
    {"event_window", as_method(py_event_window), METH_VARARGS | METH_KEYWORDS,
     "event_window(path, start_ticks, end_ticks, most_events, recover=False)\n--\n\n"
     "The events of one process between two times, as a rlscope.analysis.detail.swept.EventWindow."},
    {"last_places", as_method(py_last_places), METH_VARARGS | METH_KEYWORDS,
     "last_places(path, recover=False)\n--\n\n"
     "Where the threads of one process were at their last records, as a rlscope.analysis.hang.swept.ProcessPlaces."},
    {"slice_batches", as_method(py_slice_batches), METH_VARARGS | METH_KEYWORDS, kSliceBatchesHelp},
    {"perfetto_slices", as_method(py_perfetto_slices), METH_VARARGS | METH_KEYWORDS, kPerfettoSlicesHelp},
    {"crc32c", py_crc32c, METH_VARARGS,
     "crc32c(data, crc=0, /)\n--\n\nThe CRC-32C (Castagnoli) of what came before, of which it was `crc`, and `data`."},
    {"bytes_read", py_bytes_read, METH_NOARGS,
     "bytes_read()\n--\n\nHow many bytes of trace files this program has read so far, in all threads."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "rlscope._analysis", "Reads the trace files of processes.", 0, kMethods,
                       nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace rlscope

PyMODINIT_FUNC PyInit__analysis() { return PyModule_Create(&rlscope::kModule); }
