// A call of a communicator is one record, made when its thread need not wait for it any more.
#include "collective_calls.h"

#include "clock.h"
#include "scope.h"
#include "session.h"

namespace rlscope {
namespace {

PyObject* ticks(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(now_ticks()); }

PyObject* record_collective(PyObject*, PyObject* args) {
  PyObject *scope, *waited_since;
  unsigned long long sequence, bytes, called_at;
  if (!PyArg_ParseTuple(args, "OKKKO", &scope, &sequence, &bytes, &called_at, &waited_since)) return nullptr;
  if (!is_scope(scope)) return PyErr_Format(PyExc_TypeError, "a scope was expected, not %R", scope);
  StreamWriter* writer = Session::recording_writer();
  if (!writer) Py_RETURN_NONE;
  Collective collective = {id_of_scope(scope), kCollectiveUnwaited, sequence, bytes, called_at, 0};
  if (waited_since != Py_None) {
    collective.flags = 0;
    collective.waited_since = PyLong_AsUnsignedLongLong(waited_since);
  }
  if (PyErr_Occurred()) return nullptr;
  if (collective.name_id != 0) writer->collective(collective);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"ticks", ticks, METH_NOARGS, "ticks()\n--\n\nThe time of the recorder's clock."},
    {"record_collective", record_collective, METH_VARARGS,
     "record_collective(scope, sequence, bytes, called_at, waited_since)\n--\n\nRecord that a call of a communicator is "
     "over. The scope is that of waiting for it; times are in ticks, and None says that nobody waited."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_collective_calls(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
