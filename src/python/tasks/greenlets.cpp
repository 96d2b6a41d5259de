// What the package greenlet tells of: `greenlet.settrace(greenlet_switched)` on each thread.
#include "greenlets.h"

#include "tasks.h"

namespace rlscope {
namespace {

// Whether an attribute of a greenlet is that object.
bool has(PyObject* greenlet, const char* name, PyObject* value) {
  PyObject* found = PyObject_GetAttrString(greenlet, name);
  if (!found) PyErr_Clear();
  Py_XDECREF(found);
  return found == value;
}

bool is_threads_own(PyObject* greenlet) { return has(greenlet, "parent", Py_None); }

PyObject* greenlet_switched(PyObject*, PyObject* args) {
  PyObject *event, *from, *to;
  if (!PyArg_ParseTuple(args, "U(OO)", &event, &from, &to)) return nullptr;
  greenlet_switches(is_threads_own(from) ? nullptr : from, !has(from, "dead", Py_True), is_threads_own(to) ? nullptr : to);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"greenlet_switched", greenlet_switched, METH_VARARGS,
     "greenlet_switched(event, greenlets)\n--\n\nThis thread has switched from the first of two greenlets to the second."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_greenlets(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
