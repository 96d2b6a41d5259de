// Notes whom this process ends by a signal.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds `note_ended_processes` to the module. False with a Python exception set on failure.
bool add_ended_processes(PyObject* module);

}  // namespace rlscope
