// Calls of compiled functions whose objects come and go, such as JAX's.
#pragma once
#include <Python.h>

namespace rlscope {

// Gives the objects that are still alive their own entry points back.
void restore_compiled_calls();

bool add_compiled_calls(PyObject* module);

}  // namespace rlscope
