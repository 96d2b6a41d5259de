// A record that sees a request may lie inside a CUDA call or without the GIL, so it only makes the interpreter look.
#include "noticed_requests.h"

#include <pthread.h>

#include <atomic>

#include "requests.h"

namespace rlscope {
namespace {

PyObject* g_follow = nullptr;
std::atomic<bool> g_is_pending{false};

int follow(void*) {
  g_is_pending = false;
  PyObject* result = Requests::are_news() ? PyObject_CallNoArgs(g_follow) : Py_NewRef(Py_None);
  if (!result) PyErr_WriteUnraisable(g_follow);  // the program goes on
  Py_XDECREF(result);
  return 0;
}

void notice() {
  if (!g_is_pending.exchange(true) && Py_AddPendingCall(follow, nullptr) != 0) g_is_pending = false;
}

PyObject* follow_requests(PyObject*, PyObject* args) {
  PyObject *path, *function;
  if (!PyArg_ParseTuple(args, "O&O:follow_requests", PyUnicode_FSConverter, &path, &function)) return nullptr;
  static const bool is_installed = pthread_atfork(nullptr, nullptr, [] { g_is_pending = false; }) == 0;
  (void)is_installed;
  Py_XSETREF(g_follow, Py_NewRef(function));
  int error = Requests::map(PyBytes_AS_STRING(path), notice);
  Py_DECREF(path);
  if (error == 0) Py_RETURN_NONE;
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject* requested(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(Requests::number()); }

PyObject* followed(PyObject*, PyObject* number) {
  unsigned long value = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred()) return nullptr;
  Requests::follow(static_cast<uint32_t>(value));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"follow_requests", follow_requests, METH_VARARGS,
     "follow_requests(path, function)\n--\n\nCall the function on the main thread while the number in the file has not been "
     "followed()."},
    {"requested", requested, METH_NOARGS, "requested()\n--\n\nThe number in the file of requests; 0 where there is none."},
    {"followed", followed, METH_O, "followed(number)\n--\n\nThe request of that number needs nothing more."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_noticed_requests(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
