// What stands in the place of a hooked function: it runs it inside operations and is otherwise like it.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds `Hooked`, `Inherited` and `watch_subclasses` to the module. False with a Python exception set on failure.
bool add_hooked(PyObject* module);

}  // namespace rlscope
