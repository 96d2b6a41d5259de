// What Python tells of calls of communicators: when they were called, and when they were over.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds its functions to the module. False with a Python exception set on failure.
bool add_collective_calls(PyObject* module);

}  // namespace rlscope
