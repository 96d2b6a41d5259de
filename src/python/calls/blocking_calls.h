// Calls that may block: recorded as waiting only when they do, and with the pipe or socket that they wait at.
#pragma once
#include <Python.h>

namespace rlscope {

// Takes over a definition that needs a look at its arguments to know whether it blocks, or at what: lock and semaphore
// acquires, SimpleQueue.get, os.read and os.write, raw files, sockets, os._exit. False: an ordinary definition, not handled here.
bool intercept_blocking_call(PyMethodDef* def, const char* name, PyObject* owner);

// Adds `name_waits` to the module. False with a Python exception set on failure.
bool add_blocking_calls(PyObject* module);

}  // namespace rlscope
