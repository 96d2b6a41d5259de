// Exchanges function pointers in the libraries' own tables, and puts them back.
#pragma once
#include <Python.h>

namespace rlscope {

bool is_swapped(void** where);

// Replaces the pointer at `where` by `replacement`, remembering what was there. `owner`, in which it lies, is kept alive;
// it may be null. Nothing happens to one that is replaced already: several objects may share one definition.
void swap_pointer(void** where, void* replacement, PyObject* owner);

// Where an object has an entry point of its own; null where its type gives it none.
vectorcallfunc* entry_of(PyObject* object);

// Another replacement for a pointer that is swapped.
void change_replacement(void** where, void* replacement);

// Puts a pointer back that is swapped, or swaps it again, if nobody else has changed it. One that lies in memory that was
// read-only stays as it is: to change that takes longer than this may.
void set_aside(void** where);
void swap_again(void** where);

// Puts every pointer back that is still ours. Replacements stay valid: a call may be inside one.
void restore_pointers();

// The function that `entry` stands in for, or `entry` itself where it is no replacement. Needs the GIL.
void* original_of(void* entry);

}  // namespace rlscope
