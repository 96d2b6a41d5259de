// Python's objects in C++: who owns them, and how they are made of our values.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rlscope {

struct Release {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

// A Python error is set: unwinds to the function that Python called.
struct PythonError {};

inline Owned checked(PyObject* object) {
  if (!object) throw PythonError{};
  return Owned(object);
}

inline void check(int status) {
  if (status < 0) throw PythonError{};
}

// Names come from the recorded program or from a damaged file, so they may be anything.
inline Owned text(std::string_view value) {
  return checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

inline Owned number(uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }

inline Owned truth(bool value) { return checked(PyBool_FromLong(value)); }

inline uint64_t to_uint64(PyObject* value) {
  uint64_t result = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) throw PythonError{};
  return result;
}

inline void put(PyObject* dict, const char* key, Owned value) { check(PyDict_SetItemString(dict, key, value.get())); }

inline void append(PyObject* list, Owned value) { check(PyList_Append(list, value.get())); }

template <typename... Items>
inline Owned tuple(Items... items) {
  Owned result = checked(PyTuple_New(sizeof...(items)));
  Py_ssize_t index = 0;
  (PyTuple_SET_ITEM(result.get(), index++, items.release()), ...);
  return result;
}

inline Owned numbers(const std::vector<uint64_t>& values) {
  Owned list = checked(PyList_New(0));
  for (uint64_t value : values) append(list.get(), number(value));
  return list;
}

template <typename Item>
Owned raw(const std::vector<Item>& values) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                           static_cast<Py_ssize_t>(values.size() * sizeof(Item))));
}

}  // namespace rlscope
