// Imports that a program makes inside its operations.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_imports(PyObject* module);

}  // namespace rlscope
