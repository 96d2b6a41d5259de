// A record that sees a request may lie inside a CUDA call or without the GIL, so it only makes the interpreter look.
#include "noticed_requests.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "requests.h"

namespace rlscope {
namespace {

// The Python side knows it by these places.
static_assert(offsetof(SharedPage, ready) == 64 && offsetof(SharedPage, reached) == 68 && offsetof(SharedPage, failed) == 72 &&
              offsetof(SharedPage, failed_errno) == 76 && offsetof(SharedPage, iterations) == 128);

PyObject* g_follow = nullptr;
std::atomic<bool> g_is_pending{false};

int follow(void*) {
  g_is_pending = false;
  PyObject* result = Requests::are_due() ? PyObject_CallNoArgs(g_follow) : Py_NewRef(Py_None);
  if (!result) PyErr_WriteUnraisable(g_follow);  // the program goes on
  Py_XDECREF(result);
  return 0;
}

void notice() {
  if (!g_is_pending.exchange(true) && Py_AddPendingCall(follow, nullptr) != 0) g_is_pending = false;
}

PyObject* make_requests(PyObject*, PyObject*) {
  int fd = Requests::make_page();
  return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

PyObject* follow_requests(PyObject*, PyObject* args) {
  PyObject *path, *function;
  unsigned long long inode;
  if (!PyArg_ParseTuple(args, "O&KO:follow_requests", PyUnicode_FSConverter, &path, &inode, &function)) return nullptr;
  static const bool is_installed = pthread_atfork(nullptr, nullptr, [] { g_is_pending = false; }) == 0;
  (void)is_installed;
  Py_XSETREF(g_follow, Py_NewRef(function));
  int error = Requests::map(PyBytes_AS_STRING(path), inode, notice);
  Py_DECREF(path);
  if (error == 0) {
    return PyMemoryView_FromMemory(reinterpret_cast<char*>(&rlscope_gate.shared), SharedPage::kBytes, PyBUF_WRITE);
  }
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject* followed(PyObject*, PyObject* number) {
  unsigned long value = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred()) return nullptr;
  Requests::follow(static_cast<uint32_t>(value));
  Py_RETURN_NONE;
}

PyObject* ask(PyObject*, PyObject* args) {
  unsigned int known, number;
  if (!PyArg_ParseTuple(args, "II:ask", &known, &number)) return nullptr;
  return PyBool_FromLong(Requests::ask(known, number));
}

PyObject* look_again_at(PyObject*, PyObject* time_ns) {
  uint64_t due_ns = Requests::kNotDue;
  if (time_ns != Py_None) due_ns = PyLong_AsUnsignedLongLong(time_ns);
  if (PyErr_Occurred()) return nullptr;
  Requests::set_due(due_ns);
  Py_RETURN_NONE;
}

PyObject* note_failure(PyObject*, PyObject* error) {
  long value = PyLong_AsLong(error);
  if (PyErr_Occurred()) return nullptr;
  return PyBool_FromLong(Requests::note_failure(static_cast<int>(value)));
}

PyMethodDef functions[] = {
    {"make_requests", make_requests, METH_NOARGS,
     "make_requests()\n--\n\nMake the page of requests of a run; return a descriptor of it."},
    {"follow_requests", follow_requests, METH_VARARGS,
     "follow_requests(path, inode, function)\n--\n\nMap the page that is open as `path` and return it. Call the function on "
     "the main thread while the number in it has not been followed(), and when it is time to look_again_at()."},
    {"followed", followed, METH_O, "followed(number)\n--\n\nThe request of that number needs nothing more."},
    {"ask", ask, METH_VARARGS,
     "ask(known, number)\n--\n\nAsk all processes for a number, unless another one than the known one is asked for now."},
    {"look_again_at", look_again_at, METH_O,
     "look_again_at(monotonic_ns)\n--\n\nCall the function of follow_requests() then, at a record; None for never."},
    {"note_failure", note_failure, METH_O,
     "note_failure(errno)\n--\n\nThe window that is followed cannot be recorded. Return whether that is new."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_noticed_requests(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
