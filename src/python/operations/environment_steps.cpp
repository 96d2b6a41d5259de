// Counts steps at the methods that make them, also while nothing records: of several that are inside each other, as of
// wrappers and of a vector of environments, the outermost, which is as many steps as any of them has environments.
#include "environment_steps.h"

#include <algorithm>
#include <utility>

#include "hooked.h"

namespace rlscope {
namespace {

// Guarded by the GIL.
uint64_t steps;
PyObject* notice;  // called once when the next step begins
PyObject* num_envs;

thread_local uint64_t t_open_steps;  // those of the call that this thread is in; 0: in none

uint64_t environments_of(PyObject* instance) {
  PyObject* number = PyObject_GetAttr(instance, num_envs);
  unsigned long long found = number ? PyLong_AsUnsignedLongLong(number) : 1;
  Py_XDECREF(number);
  if (!PyErr_Occurred()) return found;
  PyErr_Clear();
  return 1;
}

void tell_of_step() {
  PyObject* called = std::exchange(notice, nullptr);
  PyObject* result = PyObject_CallNoArgs(called);
  if (!result) PyErr_WriteUnraisable(called);
  Py_XDECREF(result);
  Py_DECREF(called);
}

template <bool is_vector>
PyObject* call_step(PyObject* hooked, PyObject* const* arguments, size_t count, PyObject* names) {
  bool is_outermost = t_open_steps == 0;
  if (is_outermost) {
    if (__builtin_expect(notice != nullptr, 0)) tell_of_step();
    t_open_steps = 1;
  }
  PyObject* result = call_hooked(hooked, arguments, count, names);
  if (is_vector && result && PyVectorcall_NARGS(count) > 0) {
    t_open_steps = std::max(t_open_steps, environments_of(arguments[0]));
  }
  if (is_outermost) {
    if (result) steps += t_open_steps;
    t_open_steps = 0;
  }
  return result;
}

PyObject* count_steps(PyObject*, PyObject* args) {
  PyObject *hooked, *is_vector;
  if (!PyArg_ParseTuple(args, "OO!", &hooked, &PyBool_Type, &is_vector)) return nullptr;
  set_entry(hooked, is_vector == Py_True ? call_step<true> : call_step<false>);
  return Py_NewRef(hooked);
}

PyObject* environment_steps(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(steps); }

PyObject* at_next_step(PyObject*, PyObject* function) {
  Py_XSETREF(notice, function == Py_None ? nullptr : Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"count_steps", count_steps, METH_VARARGS,
     "count_steps(hooked, is_vector)\n--\n\nCalls of a `Hooked` are steps of an environment, or of as many as its instance "
     "has in `num_envs`. Returns it."},
    {"environment_steps", environment_steps, METH_NOARGS, "environment_steps()\n--\n\nHow many have been made."},
    {"at_next_step", at_next_step, METH_O,
     "at_next_step(function)\n--\n\nCalls the function once, before the next one begins; None takes it back."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_environment_steps(PyObject* module) {
  num_envs = PyUnicode_InternFromString("num_envs");
  return num_envs && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace rlscope
