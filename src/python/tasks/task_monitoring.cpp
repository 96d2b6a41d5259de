// How tasks are followed since Python 3.12: by events of sys.monitoring, set on the code of those coroutines and generators
// alone that have opened an operation. They tell of each step, whoever drives it: any event loop, `for`, `await`.
#include "tasks.h"

#if PY_VERSION_HEX >= 0x030C0000
#include <unistd.h>

#include <unordered_set>

namespace rlscope {
namespace {

constexpr int kTools = 6;
constexpr int kFirstTool = 4;  // has no meaning of its own, as 3; others are those of debuggers, coverage and profilers

PyObject* monitoring;                        // null while no tool id is ours
int tool;
int local_events;
std::unordered_set<PyCodeObject*> followed;  // owned
PyCodeObject* last_followed;
bool has_complained;

PyObject* current_task() { return generator_of(current_frame()); }

PyObject* on_start(PyObject*, PyObject* const*, Py_ssize_t) {
  task_starts(current_task());
  Py_RETURN_NONE;
}

PyObject* on_yield(PyObject*, PyObject* const*, Py_ssize_t) {
  if (are_tasks_running()) task_suspends(current_task());
  Py_RETURN_NONE;
}

// Also where an exception is thrown into a coroutine, of which Python tells for all code or none.
PyObject* on_resume(PyObject*, PyObject* const*, Py_ssize_t) {
  if (are_tasks_suspended()) task_resumes(current_task());
  Py_RETURN_NONE;
}

PyCFunction as_function(_PyCFunctionFast function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

struct Event {
  const char* name;
  bool is_local;
  PyMethodDef callback;
};
Event events[] = {
    {"PY_START", true, {"on_start", as_function(on_start), METH_FASTCALL, nullptr}},
    {"PY_YIELD", true, {"on_yield", as_function(on_yield), METH_FASTCALL, nullptr}},
    {"PY_RESUME", true, {"on_resume", as_function(on_resume), METH_FASTCALL, nullptr}},
    {"PY_THROW", false, {"on_throw", as_function(on_resume), METH_FASTCALL, nullptr}},
};

bool succeeds(PyObject* result) {
  Py_XDECREF(result);
  return result != nullptr;
}

// The number of an event, 0 with an exception.
int number_of(PyObject* module, const char* event) {
  PyObject* all = PyObject_GetAttrString(module, "events");
  PyObject* number = all ? PyObject_GetAttrString(all, event) : nullptr;
  int value = number ? static_cast<int>(PyLong_AsLong(number)) : 0;
  Py_XDECREF(number);
  Py_XDECREF(all);
  return value;
}

// Takes an id that nobody else uses; -1 with an exception.
int take_tool(PyObject* module) {
  for (int i = 0; i < kTools; i++) {
    int id = (kFirstTool + i) % kTools;
    if (succeeds(PyObject_CallMethod(module, "use_tool_id", "is", id, "rlscope"))) return id;
    if (i + 1 < kTools) PyErr_Clear();
  }
  return -1;
}

bool register_callbacks(PyObject* module) {
  int global_events = 0;
  local_events = 0;
  for (Event& event : events) {
    int number = number_of(module, event.name);
    PyObject* callback = number ? PyCFunction_New(&event.callback, nullptr) : nullptr;
    if (!callback || !succeeds(PyObject_CallMethod(module, "register_callback", "iiN", tool, number, callback))) {
      return false;
    }
    (event.is_local ? local_events : global_events) |= number;
  }
  return succeeds(PyObject_CallMethod(module, "set_events", "ii", tool, global_events));
}

bool begin_monitoring() {
  PyObject* module = PySys_GetObject("monitoring");
  if (!module) return false;
  tool = take_tool(module);
  if (tool < 0) return false;
  monitoring = Py_NewRef(module);
  return register_callbacks(module);
}

void complain() {
  PyErr_Clear();
  if (has_complained) return;
  has_complained = true;
  constexpr char kMessage[] =
      "rlscope: coroutines are not followed, because other tools hold all six ids of sys.monitoring: an operation that is "
      "open in a suspended coroutine or generator goes on for the thread. Switch one of the tools off to follow them.\n";
  if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) PyErr_Clear();
}

}  // namespace

// Nothing is taken until it is needed.
bool start_task_events() { return true; }

bool follow_task_events(PythonFrame* task) {
  PyCodeObject* code = code_of(task);
  if (code == last_followed) return true;
  if (followed.count(code) == 0) {
    bool is_set = (monitoring || begin_monitoring()) &&
                  succeeds(PyObject_CallMethod(monitoring, "set_local_events", "iOi", tool, code, local_events));
    if (!is_set) {
      complain();
      return false;
    }
    followed.insert(reinterpret_cast<PyCodeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(code))));
    task_starts(generator_of(task));
  }
  last_followed = code;
  return true;
}

void stop_task_events() {
  if (!monitoring) return;
  for (PyCodeObject* code : followed) {
    if (!succeeds(PyObject_CallMethod(monitoring, "set_local_events", "iOi", tool, code, 0))) PyErr_Clear();
    Py_DECREF(code);
  }
  followed.clear();
  last_followed = nullptr;
  if (!succeeds(PyObject_CallMethod(monitoring, "set_events", "ii", tool, 0))) PyErr_Clear();
  for (const Event& event : events) {
    int number = number_of(monitoring, event.name);
    if (!succeeds(PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, number, Py_None))) PyErr_Clear();
  }
  if (!succeeds(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool))) PyErr_Clear();
  Py_CLEAR(monitoring);
}

}  // namespace rlscope
#endif
