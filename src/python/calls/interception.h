// Interception in place: calls of native functions are recorded by what stands in for them in the libraries' own tables.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_interception(PyObject* module);

}  // namespace rlscope
