// Stands in the place of `builtins.__build_class__` while classes of the script are awaited. In C++, so that it has no
// frame of its own: metaclasses and decorators look at the frames around a class.
#include "built_classes.h"

namespace rlscope {
namespace {

constexpr const char* kBuildClass = "__build_class__";
// What the script is called, and what it is called in a child of multiprocessing that imports it again.
constexpr const char* kScript[] = {"__main__", "__mp_main__"};

// Guarded by the GIL.
bool is_in_place;
PyObject* original;
PyObject* watcher;

bool is_of_script(PyObject* body) {
  if (!PyFunction_Check(body)) return false;
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(body), "__name__");
  if (!name || !PyUnicode_Check(name)) return false;
  for (const char* script : kScript) {
    if (PyUnicode_CompareWithASCIIString(name, script) == 0) return true;
  }
  return false;
}

PyObject* build_class(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  PyObject* built = PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), names);
  if (!built || !watcher || count < 1 || !is_of_script(arguments[0])) return built;
  PyObject* watching = Py_NewRef(watcher);  // which it may end
  PyObject* result = PyObject_CallOneArg(watching, built);
  if (!result) PyErr_WriteUnraisable(watching);  // the program's class is built all the same
  Py_XDECREF(result);
  Py_DECREF(watching);
  return built;
}

PyMethodDef build_class_method = {kBuildClass,
                                  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(build_class)),
                                  METH_FASTCALL | METH_KEYWORDS, nullptr};

bool put_in_place(PyObject* builtins) {
  if (is_in_place) return true;
  PyObject* found = PyObject_GetAttrString(builtins, kBuildClass);
  PyObject* replacement = found ? PyCFunction_New(&build_class_method, nullptr) : nullptr;
  if (!replacement || PyObject_SetAttrString(builtins, kBuildClass, replacement) != 0) {
    Py_XDECREF(replacement);
    Py_XDECREF(found);
    return false;
  }
  Py_DECREF(replacement);
  Py_XSETREF(original, found);
  is_in_place = true;
  return true;
}

// Somebody else may stand in that place by now, and call ours: then it stays, and watches nothing.
bool put_back(PyObject* builtins) {
  PyObject* found = PyObject_GetAttrString(builtins, kBuildClass);
  if (!found) return false;
  bool is_ours = PyCFunction_Check(found) && PyCFunction_GET_FUNCTION(found) == build_class_method.ml_meth;
  Py_DECREF(found);
  if (!is_ours) return true;
  is_in_place = PyObject_SetAttrString(builtins, kBuildClass, original) != 0;
  return !is_in_place;
}

PyObject* watch_classes(PyObject*, PyObject* callback) {
  PyObject* builtins = PyImport_ImportModule("builtins");
  if (!builtins) return nullptr;
  bool is_watching = callback != Py_None;
  bool is_done = is_watching ? put_in_place(builtins) : !is_in_place || put_back(builtins);
  Py_DECREF(builtins);
  if (!is_done) return nullptr;
  Py_XSETREF(watcher, is_watching ? Py_NewRef(callback) : nullptr);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"watch_classes", watch_classes, METH_O,
     "watch_classes(callback)\n--\n\nCall `callback(cls)` with each class that the script builds from now on; None ends "
     "it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_built_classes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
