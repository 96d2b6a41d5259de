// The functions of rlscope._analysis that read the files of several processes together.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

namespace rlscope {

// As many bins, of a union or of a sweep's detail, as somebody may ask for.
constexpr size_t kMostBins = 1 << 20;

// With keywords. _analysis.pyi says what they take and return.
PyObject* py_device_union(PyObject*, PyObject* args, PyObject* kwargs);
PyObject* py_device_sharing(PyObject*, PyObject* args, PyObject* kwargs);
PyObject* py_device_idle(PyObject*, PyObject* args, PyObject* kwargs);

extern const char* const kDeviceUnionHelp;
extern const char* const kDeviceSharingHelp;
extern const char* const kDeviceIdleHelp;

}  // namespace rlscope
