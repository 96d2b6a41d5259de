// What Python asks for: which function pointers of an object are exchanged.
#include "interception.h"

#include <cerrno>
#include <new>
#include <string>

#include "arguments.h"
#include "blocking_calls.h"
#include "builtin_identity.h"
#include "compiled_calls.h"
#include "function_objects.h"
#include "method_definitions.h"
#include "pointer_swaps.h"
#include "session.h"
#include "trampolines.h"

namespace rlscope {
namespace {

PyObject* report(bool has_room) {
  if (has_room) Py_RETURN_TRUE;
  return PyErr_Format(PyExc_RuntimeError, "all %u trampolines are in use", kTrampolines);
}

PyObject* intercept(PyObject*, PyObject* args) try {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "OsO&", &object, &name, parse_category, &category)) return nullptr;
  if (PyMethodDef* def = method_def_of(object)) {
    keep_identity_of_builtins();
    if (intercept_blocking_call(def, name, object)) Py_RETURN_TRUE;
    int arguments = argument_count(def->ml_flags);
    if (arguments == 0 || !def->ml_meth) Py_RETURN_FALSE;
    return report(swap_for_trampoline(reinterpret_cast<void**>(&def->ml_meth), arguments, category, name, object));
  }
  // Objects that carry their own entry point: nanobind functions and methods, jitted callables.
  vectorcallfunc* where = entry_of(object);
  if (where && *where && !PyFunction_Check(object) && !PyType_Check(object) && !PyMethod_Check(object)) {
    return report(swap_for_trampoline(reinterpret_cast<void**>(where), 4, category, name, object));
  }
  Py_RETURN_FALSE;
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  Py_RETURN_FALSE;
}

// x[i] and x[i] = v of a type that implements them natively.
PyObject* intercept_indexing(PyObject*, PyObject* args) try {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  PyMappingMethods* mapping = type->tp_as_mapping;
  if (!mapping) Py_RETURN_FALSE;
  std::string get = std::string(name) + ".__getitem__", set = std::string(name) + ".__setitem__";
  bool has_room = true;
  if (mapping->mp_subscript) {
    has_room = swap_for_trampoline(reinterpret_cast<void**>(&mapping->mp_subscript), 2, category, get.c_str(), object);
  }
  if (has_room && mapping->mp_ass_subscript) {
    has_room =
        swap_for_trampoline(reinterpret_cast<void**>(&mapping->mp_ass_subscript), 3, category, set.c_str(), object);
  }
  return report(has_room);
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  Py_RETURN_FALSE;
}

// The buffer protocol of a type: numpy.asarray(x), memoryview(x).
PyObject* intercept_buffers(PyObject*, PyObject* args) try {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  PyBufferProcs* procedures = reinterpret_cast<PyTypeObject*>(object)->tp_as_buffer;
  if (!procedures || !procedures->bf_getbuffer) Py_RETURN_FALSE;
  return report(swap_for_trampoline(reinterpret_cast<void**>(&procedures->bf_getbuffer), 3, category, name, object));
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  Py_RETURN_FALSE;
}

// Making an object of a native type from others: Type(...).
PyObject* intercept_construction(PyObject*, PyObject* args) try {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (!type->tp_init) Py_RETURN_FALSE;
  return report(swap_for_trampoline(reinterpret_cast<void**>(&type->tp_init), 3, category, name, object));
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  Py_RETURN_FALSE;
}

PyObject* pass_by(PyObject*, PyObject*) {
  pass_by_trampolines();
  Py_RETURN_NONE;
}

PyObject* use_again(PyObject*, PyObject*) {
  use_trampolines();
  Py_RETURN_NONE;
}

PyObject* restore_all(PyObject*, PyObject*) try {
  use_trampolines();
  restore_pointers();
  restore_identity_of_builtins();
  restore_compiled_calls();
  restore_function_objects();
  Py_RETURN_NONE;
} catch (const std::bad_alloc&) {
  Session::fail(ENOMEM);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"intercept", intercept, METH_VARARGS,
     "intercept(function, name, category)\n--\n\nRecord calls of a native function. False: it cannot be intercepted."},
    {"intercept_indexing", intercept_indexing, METH_VARARGS,
     "intercept_indexing(type, name, category)\n--\n\nRecord x[i] and x[i] = v of a native type."},
    {"intercept_buffers", intercept_buffers, METH_VARARGS,
     "intercept_buffers(type, name, category)\n--\n\nRecord who gets the memory of a native type's objects."},
    {"intercept_construction", intercept_construction, METH_VARARGS,
     "intercept_construction(type, name, category)\n--\n\nRecord the making of a native type's objects by Python."},
    {"pass_by_trampolines", pass_by, METH_NOARGS,
     "pass_by_trampolines()\n--\n\nLet functions that were called so far be called directly, as if nobody recorded."},
    {"use_trampolines", use_again, METH_NOARGS, "use_trampolines()\n--\n\nEnd what pass_by_trampolines() began."},
    {"restore_all", restore_all, METH_NOARGS, "restore_all()\n--\n\nPut back everything that was intercepted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_interception(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
