// Objects whose values native code computes after the call that made them has returned.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds `follow_launched` and `intercept_awaiting` to the module. False with a Python exception set on failure.
bool add_launched_objects(PyObject* module);

}  // namespace rlscope
