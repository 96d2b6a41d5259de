// Counts the steps that a process makes in environments.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_environment_steps(PyObject* module);

}  // namespace rlscope
