// The names of a class, as its `__dict__` shows them: without what stands there for methods that it inherits.
#pragma once
#include <Python.h>

namespace rlscope {

// The dictionary of a type, a new reference.
PyObject* dict_of(PyTypeObject* type);

// `__dict__` of this class leaves out values of a type, always the same one, until it is shown as often as it was hidden.
void hide_names(PyTypeObject* owner, PyTypeObject* of_values);
void show_names(PyTypeObject* owner);

// Adds `names_of` to the module. False with a Python exception set on failure.
bool add_class_names(PyObject* module);

}  // namespace rlscope
