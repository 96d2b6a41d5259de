// Interception in place: swaps function pointers inside the libraries' own method tables for recording trampolines.
#pragma once
#include <Python.h>

#include "session.h"

namespace rlscope {

// Replaces the function pointer at `where`, taking `arguments` (2 to 5) pointer arguments, by a trampoline that records
// a crossing named `name`. `owner` is kept alive. False where all trampolines are taken.
bool swap_for_trampoline(void** where, int arguments, Category category, const char* name, PyObject* owner);

// Replaces the pointer at `where` by `replacement`, remembering what was there.
void swap_for(void** where, void* replacement, PyObject* owner);

// Puts every pointer back that is still ours. Trampolines stay valid: a call may be inside one.
void restore_all();

// The PyMethodDef behind a built-in function, method or class method, or null.
PyMethodDef* method_def_of(PyObject* object);

// Converts an argument of a Python function, as PyArg_ParseTuple's O& asks.
int parse_category(PyObject* value, void* category);

bool add_interception(PyObject* module);

}  // namespace rlscope
