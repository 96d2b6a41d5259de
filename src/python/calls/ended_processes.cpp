// Stands in the place of `os.kill`, by which multiprocessing and subprocess end children too, and of `os.killpg`. What a
// process that was ended so had recorded is in its file; that this is all, and when it ended, is known from the note alone.
#include "ended_processes.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "builtin_identity.h"
#include "clock.h"
#include "method_definitions.h"
#include "pointer_swaps.h"
#include "session.h"

namespace rlscope {
namespace {

using Kill = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
Kill original_kill;
Kill original_killpg;

void note(pid_t process, long signal, const char* what = "ended") {
  Session::write_properties("{\"" + std::string(what) + " " + std::to_string(process) + "\": [" + std::to_string(signal) + ", " +
                            std::to_string(monotonic_ns()) + "]}");
}

// Those of the group that have a file beside this process's; what this one does to itself nobody is left to note.
void note_group(pid_t group, long signal) {
  DIR* directory = opendir(std::filesystem::path(Session::path()).parent_path().c_str());
  if (!directory) return;
  if (group == 0) group = getpgrp();
  while (const dirent* entry = readdir(directory)) {
    pid_t process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    bool is_recorded = process > 0 && std::strstr(entry->d_name, ".rlscope");
    if (is_recorded && process != getpid() && getpgid(process) == group) note(process, signal);
  }
  closedir(directory);
}

bool is_noted(PyObject* const* arguments, Py_ssize_t count, long& target, long& signal) {
  if (count != 2 || !Session::is_recording()) return false;
  target = PyLong_AsLong(arguments[0]);
  signal = PyLong_AsLong(arguments[1]);
  bool is_number = !PyErr_Occurred();
  PyErr_Clear();  // what the original takes for a number, this does not
  return is_number && (signal == SIGTERM || signal == SIGKILL);
}

PyObject* kill_and_note(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  long target, signal;
  bool is_wanted = is_noted(arguments, count, target, signal);
  bool is_group = target == 0 || target < -1;
  if (is_wanted && is_group) note_group(static_cast<pid_t>(-target), signal);
  PyObject* result = original_kill(module, arguments, count);
  if (result && is_wanted && target > 0) note(static_cast<pid_t>(target), signal);
  return result;
}

// Noted before, while the members of the group can be found.
PyObject* note_and_killpg(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  long target, signal;
  if (is_noted(arguments, count, target, signal) && target >= 0) note_group(static_cast<pid_t>(target), signal);
  return original_killpg(module, arguments, count);
}

void replace(PyObject* function, Kill replacement, Kill& original) {
  PyMethodDef* def = method_def_of(function);
  if (!def || def->ml_flags != METH_FASTCALL) return;
  auto pointer = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(replacement));
  if (def->ml_meth != pointer) original = reinterpret_cast<Kill>(reinterpret_cast<void (*)()>(def->ml_meth));
  keep_identity_of_builtins();
  swap_pointer(reinterpret_cast<void**>(&def->ml_meth), reinterpret_cast<void*>(pointer), function);
}

PyObject* note_ended_processes(PyObject*, PyObject* const* functions, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "2 functions were expected, %zd were given", count);
  replace(functions[0], kill_and_note, original_kill);
  replace(functions[1], note_and_killpg, original_killpg);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"note_ended_processes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(note_ended_processes)),
     METH_FASTCALL,
     "note_ended_processes(kill, killpg)\n--\n\nWrite into the properties whom this process ends by `os.kill` and "
     "`os.killpg`, which are given."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void note_ended_child(PyObject* process, PyObject* status) {
  int overflow;
  long pid = PyLong_Check(process) ? PyLong_AsLongAndOverflow(process, &overflow) : 0;
  long how = PyLong_Check(status) ? PyLong_AsLongAndOverflow(status, &overflow) : 0;
  if (pid > 0 && WIFSIGNALED(how)) note(static_cast<pid_t>(pid), WTERMSIG(how), "waited");
}

bool add_ended_processes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
