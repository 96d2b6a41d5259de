// What devices did for several processes: the functions of rlscope._analysis that read their files together.
#include "device_functions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device_idle.h"
#include "device_sharing.h"
#include "device_union.h"
#include "python_errors.h"
#include "python_rows.h"

namespace rlscope {
namespace {

// As many places, of devices, as any trace has.
constexpr size_t kMostPlaces = 1 << 16;

// The items of a sequence that Python gave, each made by `to_item`.
template <typename ToItem>
auto to_vector(PyObject* given, const char* wrong, ToItem to_item) {
  Owned items = checked(PySequence_Fast(given, wrong));
  std::vector<decltype(to_item(given))> found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) {
    found.push_back(to_item(PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  return found;
}

// (path, start_ticks, end_ticks, clock, devices)
UnionInput to_union_input(PyObject* item) {
  PyObject *path, *start, *end, *from_ticks, *to, *numerator, *denominator, *places;
  if (!PyArg_ParseTuple(item, "O&OO(OOOO)O!:a process", PyUnicode_FSConverter, &path, &start, &end, &from_ticks, &to,
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
    size_t number = to_uint64(place);
    if (number >= kMostPlaces) {
      PyErr_Format(PyExc_ValueError, "places are below %zu, but one is %R", kMostPlaces, place);
      throw PythonError{};
    }
    input.places[static_cast<uint32_t>(to_uint64(device))] = number;
  }
  return input;
}

std::vector<UnionInput> to_union_inputs(PyObject* given) {
  return to_vector(given, "processes must be a sequence", to_union_input);
}

// A tuple (start, width, count) of integers.
Bins to_bins(PyObject* given) {
  PyObject *start, *width, *count;
  if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 3) {
    PyErr_Format(PyExc_TypeError, "device_union() takes bins as a tuple (start, width, count) or None, not %R", given);
    throw PythonError{};
  }
  if (!PyArg_ParseTuple(given, "OOO", &start, &width, &count)) throw PythonError{};
  Bins bins{to_uint64(start), to_uint64(width), to_uint64(count)};
  if (bins.width == 0 || bins.count > kMostBins) {
    PyErr_Format(PyExc_ValueError, "bins are wider than 0 and at most %zu, but (start, width, count) is %R", kMostBins,
                 given);
    throw PythonError{};
  }
  return bins;
}

WorkKind to_work_kind(const std::string& given) {
  if (given == "any") return WorkKind::kAny;
  if (given == "computing") return WorkKind::kComputing;
  if (given == "communicating") return WorkKind::kCommunicating;
  PyErr_Format(PyExc_ValueError, "work is any, computing or communicating, but %s was given", given.c_str());
  throw PythonError{};
}

// (start, end)
IdleSpan to_span(PyObject* item) {
  PyObject *start, *end;
  if (!PyArg_ParseTuple(item, "OO:a span", &start, &end)) throw PythonError{};
  return {to_uint64(start), to_uint64(end)};
}

// (process, start_ticks, end_ticks, tails), the process as above
IdleUser to_idle_user(PyObject* item) {
  PyObject *process, *start, *end, *tails;
  if (!PyArg_ParseTuple(item, "OOOO:a user", &process, &start, &end, &tails)) throw PythonError{};
  return {to_union_input(process), to_uint64(start), to_uint64(end),
          to_vector(tails, "tails must be a sequence", to_span)};
}

}  // namespace

const char* const kDeviceUnionHelp =
    "device_union(processes, recover=False, bins=None, work=\"any\")\n--\n\n"
    "Adds up how long devices worked for any of several processes. _analysis.pyi says what the list holds.";
const char* const kDeviceSharingHelp =
    "device_sharing(processes, recover=False)\n--\n\n"
    "Adds up for whom of several processes devices worked: a rlscope.analysis.devices.swept.SweptSharing of each device.";
const char* const kDeviceIdleHelp =
    "device_idle(users, spans, recover=False)\n--\n\n"
    "Adds up what processes did while devices did nothing: rows of rlscope.analysis.devices.swept.SweptPlaceIdle.";

PyObject* py_device_union(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"processes", "recover", "bins", "work", nullptr};
  PyObject* given = nullptr;
  int recovers = 0;
  PyObject* given_bins = Py_None;
  const char* given_kind = "any";
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pOs:device_union", const_cast<char**>(keywords), &given, &recovers,
                                   &given_bins, &given_kind)) {
    return nullptr;
  }
  return with_python_errors(nullptr, [&] {
    std::vector<UnionInput> inputs = to_union_inputs(given);
    size_t places = places_of(inputs);
    WorkKind kind = to_work_kind(given_kind);
    if (given_bins == Py_None) {
      std::vector<uint64_t> busy;
      {
        WithoutGil released;
        busy = busy_union(inputs, places, kind, recovers != 0);
      }
      return numbers(busy).release();
    }
    Bins bins = to_bins(given_bins);
    std::vector<std::vector<uint64_t>> busy;
    {
      WithoutGil released;
      busy = busy_union_in_bins(inputs, places, bins, kind, recovers != 0);
    }
    Owned result = checked(PyList_New(0));
    for (const std::vector<uint64_t>& of_device : busy) append(result.get(), numbers(of_device));
    return result.release();
  });
}

PyObject* py_device_sharing(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"processes", "recover", nullptr};
  PyObject* given = nullptr;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:device_sharing", const_cast<char**>(keywords), &given, &recovers)) {
    return nullptr;
  }
  return with_python_errors(nullptr, [&] {
    std::vector<UnionInput> inputs = to_union_inputs(given);
    std::vector<SweptSharing> devices;
    {
      WithoutGil released;
      devices = device_sharing(inputs, recovers != 0);
    }
    return ToPython()(devices).release();
  });
}

PyObject* py_device_idle(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"users", "spans", "recover", nullptr};
  PyObject *given = nullptr, *given_spans = nullptr;
  int recovers = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:device_idle", const_cast<char**>(keywords), &given, &given_spans,
                                   &recovers)) {
    return nullptr;
  }
  return with_python_errors(nullptr, [&] {
    std::vector<IdleUser> users = to_vector(given, "users must be a sequence", to_idle_user);
    std::vector<IdleSpan> spans = to_vector(given_spans, "spans must be a sequence", to_span);
    for (const IdleUser& user : users) {
      if (places_of({user.input}) <= spans.size()) continue;
      PyErr_Format(PyExc_ValueError, "a span for each place was expected, but there are %zu", spans.size());
      throw PythonError{};
    }
    IdleOfPlaces found;
    {
      WithoutGil released;
      found = device_idle(users, spans, recovers != 0);
    }
    return ToPython()(found.rows).release();
  });
}

}  // namespace rlscope
