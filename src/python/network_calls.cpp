// Which stage a place in the program is in shows in what follows it; the rule is in integrations/single_file.py, and this
// is its half that runs at every call. The function that is followed stays the object it is, with another entry point.
#include "network_calls.h"

#include <frameobject.h>  // for Python 3.10
#include <unordered_map>
#include <unordered_set>

#include "scope.h"
#include "session.h"

namespace rlscope {
namespace {

// How many callers tell a place from others: a method of the agent serves both purposes, its callers do not.
constexpr int kCallers = 4;

// Guarded by the GIL, as everything here.
PyFunctionObject* followed;
vectorcallfunc original;
PyObject* inference;  // what a place counts as that is met for the first time
std::unordered_map<uint64_t, PyObject*> stages;

// What one thread has called since the last step of the environment or the optimizer.
struct Thread {
  bool is_inside = false;
  uint64_t simulations = 0;
  std::unordered_set<uint64_t> pending;
};
thread_local Thread t_thread;

int last_instruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

// A number made of where `frame` and its callers are. Two places with one number are as rare as in any 64-bit hash.
uint64_t place_of(PyFrameObject* frame) {
  uint64_t place = 0;
  Py_XINCREF(frame);
  for (int caller = 0; frame && caller < kCallers; caller++) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    place ^= reinterpret_cast<uint64_t>(code) + static_cast<uint64_t>(last_instruction(frame));
    place *= 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio, as in Fibonacci hashing
    place ^= place >> 32;
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return place;
}

void decide(Thread& thread, PyObject* stage) {
  for (uint64_t place : thread.pending) stages[place] = stage;
  thread.pending.clear();
}

// If the environment has stepped since, what was called before it was inference.
void settle(Thread& thread) {
  StreamWriter* writer = Session::writer();
  uint64_t simulations = writer ? writer->simulations() : 0;
  if (simulations == thread.simulations) return;
  thread.simulations = simulations;
  decide(thread, inference);
}

// The stage that this place was in the last time, null the first time.
PyObject* stage_at(Thread& thread, uint64_t place) {
  settle(thread);
  thread.pending.insert(place);
  auto found = stages.find(place);
  return found == stages.end() ? nullptr : found->second;
}

PyObject* call_network(PyObject* function, PyObject* const* arguments, size_t count, PyObject* names) {
  Thread& thread = t_thread;
  if (thread.is_inside) return original(function, arguments, count, names);
  PyObject* stage = stage_at(thread, place_of(PyEval_GetFrame()));
  if (!enter_scope(stage ? stage : inference)) return nullptr;
  thread.is_inside = true;
  PyObject* result = original(function, arguments, count, names);
  thread.is_inside = false;
  if (!stage) leave_scope(inference);  // else it lasts until the step that ends it
  return result;
}

PyObject* follow_networks(PyObject*, PyObject* args) {
  PyObject *function, *scope;
  if (!PyArg_ParseTuple(args, "O!O", &PyFunction_Type, &function, &scope)) return nullptr;
  if (followed) Py_RETURN_NONE;
  followed = reinterpret_cast<PyFunctionObject*>(Py_NewRef(function));
  original = followed->vectorcall;
  Py_XSETREF(inference, Py_NewRef(scope));
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(followed, call_network);
#else
  followed->vectorcall = call_network;
#endif
  Py_RETURN_NONE;
}

PyObject* unfollow_networks(PyObject*, PyObject*) {
  if (followed && followed->vectorcall == call_network) followed->vectorcall = original;
  Py_CLEAR(followed);
  stages.clear();
  Py_RETURN_NONE;
}

PyObject* stage_of_caller(PyObject*, PyObject*) {
  PyFrameObject* frame = PyEval_GetFrame();
  PyFrameObject* caller = frame ? PyFrame_GetBack(frame) : nullptr;
  PyObject* stage = stage_at(t_thread, place_of(caller));
  Py_XDECREF(caller);
  return Py_NewRef(stage ? stage : Py_None);
}

PyObject* decide_stage(PyObject*, PyObject* stage) {
  settle(t_thread);
  decide(t_thread, stage);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"follow_networks", follow_networks, METH_VARARGS,
     "follow_networks(function, inference)\n--\n\nOpen the stage of the place from which a Python function is called; "
     "`inference` is that of an unknown one."},
    {"unfollow_networks", unfollow_networks, METH_NOARGS, "unfollow_networks()\n--\n\nPut the function back."},
    {"stage_of_caller", stage_of_caller, METH_NOARGS,
     "stage_of_caller()\n--\n\nThe stage that the caller of the calling function was in the last time, None if unknown."},
    {"decide_stage", decide_stage, METH_O,
     "decide_stage(stage)\n--\n\nWhat this thread has called since the last step was of that stage, which is kept alive "
     "by the caller."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_network_calls(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
