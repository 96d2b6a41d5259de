// Notes whom this process ends by a signal, and which of its children ended by one.
#pragma once
#include <Python.h>

namespace rlscope {

// Notes a child of which `os.waitpid` returned number and status, if a signal ended it.
void note_ended_child(PyObject* process, PyObject* status);

// Adds `note_ended_processes` to the module. False with a Python exception set on failure.
bool add_ended_processes(PyObject* module);

}  // namespace rlscope
