// Arguments of the module's functions that PyArg_ParseTuple does not know.
#pragma once
#include <Python.h>

#include "trace_format.h"

namespace rlscope {

// As PyArg_ParseTuple's O& asks.
inline int parse_category(PyObject* value, void* category) {
  long number = PyLong_AsLong(value);
  if (number == -1 && PyErr_Occurred()) return 0;
  if (number < 0 || number >= static_cast<long>(name_categories())) {
    PyErr_Format(PyExc_ValueError, "a category is 0 to %zu, not %ld", name_categories() - 1, number);
    return 0;
  }
  *static_cast<Category*>(category) = static_cast<Category>(number);
  return 1;
}

}  // namespace rlscope
