// The Python objects behind operation() and phase(): context managers that cost one record each way.
#pragma once
#include <Python.h>

#include <cstdint>

#include "stream_writer.h"

namespace rlscope {

// Enters and leaves a scope as `with` does. False with a Python exception set on failure.
bool enter_scope(PyObject* scope);
void leave_scope(PyObject* scope);

// While this thread, which holds the GIL, records the end of one.
extern __thread bool t_is_leaving_scope __attribute__((tls_model("initial-exec")));

bool is_scope(PyObject* object);

// Opens an operation once more, for what it has left to do where it is open no longer; nothing is counted by that. And
// closes the innermost operation that was opened so.
void reopen_operation(StreamWriter* writer, uint32_t id);
void end_reopened(StreamWriter* writer);

// The id of its name in traces; 0 where it cannot be made, with a Python exception set unless memory is short.
uint32_t id_of_scope(PyObject* scope);

// Whether a guessed stage is the innermost operation of this thread.
bool is_open_guess(PyObject* scope);

// Adds `operation` and `phase` to the module. False with a Python exception set on failure.
bool add_scopes(PyObject* module);

}  // namespace rlscope
