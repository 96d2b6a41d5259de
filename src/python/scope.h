// The Python objects behind operation() and phase(): context managers that cost one record each way.
#pragma once
#include <Python.h>

namespace rlscope {

// Enters and leaves a scope as `with` does. False with a Python exception set on failure.
bool enter_scope(PyObject* scope);
void leave_scope(PyObject* scope);

bool is_scope(PyObject* object);

// Whether a guessed stage is the innermost operation of this thread.
bool is_open_guess(PyObject* scope);

// Adds `operation` and `phase` to the module. False with a Python exception set on failure.
bool add_scopes(PyObject* module);

}  // namespace rlscope
