// Stands in the place of `os.kill`, by which multiprocessing and subprocess end children too. What a process that was ended
// so had recorded is in its file; that this is all, and when it ended, is known from the note alone.
#include "ended_processes.h"

#include <csignal>
#include <string>

#include "clock.h"
#include "interception.h"
#include "session.h"

namespace rlscope {
namespace {

using Kill = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
Kill original;

void note(PyObject* process, PyObject* signal) {
  long pid = PyLong_AsLong(process), number = PyLong_AsLong(signal);
  PyErr_Clear();  // what the original takes for a number, this does not
  if (pid <= 0 || (number != SIGTERM && number != SIGKILL)) return;
  Session::write_properties("{\"ended " + std::to_string(pid) + "\": [" + std::to_string(number) + ", " +
                            std::to_string(monotonic_ns()) + "]}");
}

PyObject* kill_and_note(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* result = original(module, arguments, count);
  if (result && count == 2 && Session::is_recording()) note(arguments[0], arguments[1]);
  return result;
}

PyObject* note_ended_processes(PyObject*, PyObject* kill) {
  PyMethodDef* def = method_def_of(kill);
  if (!def || def->ml_flags != METH_FASTCALL) Py_RETURN_NONE;
  auto replacement = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kill_and_note));
  if (def->ml_meth != replacement) original = reinterpret_cast<Kill>(reinterpret_cast<void (*)()>(def->ml_meth));
  swap_for(reinterpret_cast<void**>(&def->ml_meth), reinterpret_cast<void*>(replacement), kill);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"note_ended_processes", note_ended_processes, METH_O,
     "note_ended_processes(kill)\n--\n\nWrite into the properties whom this process ends by `kill`, which is `os.kill`."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_ended_processes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
