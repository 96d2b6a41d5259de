// The C definitions behind Python's built-in functions, and how they are called.
#pragma once
#include <Python.h>

namespace rlscope {

// The PyMethodDef behind a built-in function, method or class method, or null.
inline PyMethodDef* method_def_of(PyObject* object) {
  if (PyCFunction_Check(object)) return reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyClassMethodDescr_Type) {
    return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  }
  return nullptr;
}

// How many pointer arguments (2 to 5) a function with these flags takes; 0: not known.
inline int argument_count(int flags) {
  switch (flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD)) {
    case METH_NOARGS:
    case METH_O:
    case METH_VARARGS:
      return 2;
    case METH_VARARGS | METH_KEYWORDS:
    case METH_FASTCALL:
      return 3;
    case METH_FASTCALL | METH_KEYWORDS:
      return 4;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
      return 5;
    default:
      return 0;
  }
}

}  // namespace rlscope
