// The Python objects behind operation() and phase(): context managers that cost one record each way.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds `operation` and `phase` to the module. False with a Python exception set on failure.
bool add_scopes(PyObject* module);

}  // namespace rlscope
