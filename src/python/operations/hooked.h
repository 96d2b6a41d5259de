// What stands in the place of a hooked function: it runs it inside operations and is otherwise like it.
#pragma once
#include <Python.h>

namespace rlscope {

// The function that a `Hooked` stands for, borrowed.
PyObject* function_of(PyObject* hooked);

// What a `Hooked` does when it is called: runs the function inside its scopes, and gives notice.
PyObject* call_hooked(PyObject* hooked, PyObject* const* arguments, size_t count, PyObject* names);

// Calls of a `Hooked` go to `entry` from now on, which is given it as the callable.
void set_entry(PyObject* hooked, vectorcallfunc entry);

// Adds `Hooked`, `Inherited` and `watch_subclasses` to the module. False with a Python exception set on failure.
bool add_hooked(PyObject* module);

}  // namespace rlscope
