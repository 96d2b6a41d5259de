// What a network is called for shows in what follows the call; the rule is in record/single_file.py, and this is
// its half that runs at every call. The function that is followed stays the object it is, with another entry point.
#include "network_calls.h"

#include <frameobject.h>  // for Python 3.10
#include <unordered_map>

#include "scope.h"
#include "session.h"

namespace rlscope {
namespace {

// How many callers tell a place from others: a method of the agent serves both purposes, its callers do not.
constexpr int kCallers = 4;

// What a place turned out to be the last time: of a network's call, or of a backward.
enum class Role : uint8_t {
  kActs,    // no backward followed: inference for the length of the call; of a backward: no step of an optimizer did
  kJoins,   // called several times for one backward: belongs to a backpropagation that is open, and opens none
  kLearns,  // a backward followed, or a step: backpropagation lasts from here
};

struct Place {
  Role role = Role::kActs;
  bool is_reached = false;  // whether what the call computed was part of what a backward went through
  uint32_t backwards = 0;   // how many backwards came next
};

// A place's calls since the last backward.
struct Calls {
  bool are_several = false;
  uint64_t first_node = 0, end_node = 0;  // numbers of what the last call added to the graph, if that is to be examined
};

// Guarded by the GIL, as everything here.
PyFunctionObject* followed;
vectorcallfunc original;
PyObject *inference, *backpropagation;
PyObject *is_grad_enabled, *graph_task, *next_node;  // functions of PyTorch
std::unordered_map<uint64_t, Place> places;

struct Thread {
  bool is_inside = false;    // in a network's call
  bool is_stepping = false;  // in an optimizer's step, which may call networks in a closure
  uint32_t backwards = 0;    // that are under way
  uint64_t backward = 0;     // the place of one that no step and no call of a network has followed yet
  uint64_t simulations = 0;
  std::unordered_map<uint64_t, Calls> calls;  // by place
};
thread_local Thread t_thread;

int last_instruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

// A number made of where `frame` and its callers are, and of `subject`. Two places with one number are as rare as in
// any 64-bit hash.
uint64_t place_of(PyFrameObject* frame, PyObject* subject) {
  uint64_t place = reinterpret_cast<uint64_t>(subject);
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

// The answer of one of PyTorch's functions, -1 where it has none.
long long ask(PyObject* question) {
  PyObject* answer = PyObject_CallNoArgs(question);
  long long number = answer ? PyLong_AsLongLong(answer) : -1;
  Py_XDECREF(answer);
  if (PyErr_Occurred()) PyErr_Clear();
  return number;
}

// Looking at the graph takes a microsecond a node: only the first, second, fourth, eighth ... time.
bool is_examined(uint32_t backwards) { return (backwards & (backwards - 1)) == 0; }

// Something else than a step of the optimizer has followed the last backward.
void forget_backward(Thread& thread) {
  if (thread.backward) places[thread.backward].role = Role::kActs;
  thread.backward = 0;
}

// If the environment has stepped since, what was called before it was inference.
void settle(Thread& thread) {
  StreamWriter* writer = Session::writer();
  uint64_t simulations = writer ? writer->simulations() : 0;
  if (simulations == thread.simulations) return;
  thread.simulations = simulations;
  thread.is_stepping = false;  // an exception has ended the step
  for (auto& [place, calls] : thread.calls) places[place].role = Role::kActs;
  thread.calls.clear();
  forget_backward(thread);
}

// The role of a call from this place, given what the place was the last time.
Role role_of_call(Thread& thread, uint64_t place) {
  auto [calls, is_first] = thread.calls.try_emplace(place);
  calls->second.are_several = !is_first;
  Role role = places[place].role;
  if (role == Role::kLearns && !is_first) return Role::kActs;  // not like the last time
  if (role == Role::kJoins && !is_open_guess(backpropagation)) return Role::kActs;
  return role;
}

struct Arguments {
  PyObject* function;
  PyObject* const* values;
  size_t count;
  PyObject* names;
};

PyObject* call_within(PyObject* scope, bool lasts, const Arguments& arguments) {
  if (!enter_scope(scope)) return nullptr;
  PyObject* result = original(arguments.function, arguments.values, arguments.count, arguments.names);
  if (!lasts || !result) leave_scope(scope);
  return result;
}

PyObject* call_with_gradients(Thread& thread, const Arguments& arguments) {
  PyObject* network = PyVectorcall_NARGS(arguments.count) > 0 ? arguments.values[0] : nullptr;
  uint64_t place = place_of(PyEval_GetFrame(), network);
  Role role = role_of_call(thread, place);
  if (!is_examined(places[place].backwards + 1)) {
    return call_within(role == Role::kActs ? inference : backpropagation, role != Role::kActs, arguments);
  }
  auto first_node = static_cast<uint64_t>(ask(next_node));
  PyObject* result = call_within(role == Role::kActs ? inference : backpropagation, role != Role::kActs, arguments);
  auto calls = thread.calls.find(place);
  if (calls == thread.calls.end()) return result;  // the network itself has gone backward
  calls->second.first_node = first_node;
  calls->second.end_node = result ? static_cast<uint64_t>(ask(next_node)) : first_node;
  return result;
}

PyObject* call_network(PyObject* function, PyObject* const* values, size_t count, PyObject* names) {
  Thread& thread = t_thread;
  if (thread.is_inside || thread.is_stepping || thread.backwards > 0) return original(function, values, count, names);
  Arguments arguments{function, values, count, names};
  settle(thread);
  bool has_gradients = ask(is_grad_enabled) == 1;
  // A thread of the autograd engine calls networks to compute again what was not kept.
  if (has_gradients && ask(graph_task) != -1) return original(function, values, count, names);
  forget_backward(thread);
  thread.is_inside = true;
  PyObject* result = has_gradients ? call_with_gradients(thread, arguments) : call_within(inference, false, arguments);
  thread.is_inside = false;
  return result;
}

PyObject* follow_networks(PyObject*, PyObject* args) {
  PyObject *function, *acts, *learns, *grad_enabled, *task, *node;
  if (!PyArg_ParseTuple(args, "O!OOOOO", &PyFunction_Type, &function, &acts, &learns, &grad_enabled, &task, &node)) {
    return nullptr;
  }
  if (followed) Py_RETURN_NONE;
  followed = reinterpret_cast<PyFunctionObject*>(Py_NewRef(function));
  original = followed->vectorcall;
  Py_XSETREF(inference, Py_NewRef(acts));
  Py_XSETREF(backpropagation, Py_NewRef(learns));
  Py_XSETREF(is_grad_enabled, Py_NewRef(grad_enabled));
  Py_XSETREF(graph_task, Py_NewRef(task));
  Py_XSETREF(next_node, Py_NewRef(node));
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
  places.clear();
  t_thread = Thread();
  Py_RETURN_NONE;
}

PyObject* calls_to_examine(PyObject*, PyObject*) {
  Thread& thread = t_thread;
  PyObject* found = PyDict_New();
  if (!found || thread.backwards > 0) return found;
  settle(thread);
  for (auto& [place, calls] : thread.calls) {
    if (!is_examined(places[place].backwards + 1)) continue;
    PyObject* key = PyLong_FromUnsignedLongLong(place);
    PyObject* nodes = Py_BuildValue("(KK)", calls.first_node, calls.end_node);
    int error = key && nodes ? PyDict_SetItem(found, key, nodes) : -1;
    Py_XDECREF(key);
    Py_XDECREF(nodes);
    if (error != 0) Py_CLEAR(found);
    if (!found) break;
  }
  return found;
}

// What has been called since the last backward is decided now.
bool decide(Thread& thread, PyObject* reached) {
  for (auto& [id, calls] : thread.calls) {
    Place& place = places[id];
    if (is_examined(++place.backwards)) {
      PyObject* key = PyLong_FromUnsignedLongLong(id);
      int is_reached = key ? PySequence_Contains(reached, key) : -1;
      Py_XDECREF(key);
      if (is_reached < 0) return false;
      place.is_reached = is_reached;
    }
    place.role = !place.is_reached ? Role::kActs : calls.are_several ? Role::kJoins : Role::kLearns;
  }
  thread.calls.clear();
  return true;
}

PyObject* begin_backward(PyObject*, PyObject* reached) {
  Thread& thread = t_thread;
  if (thread.backwards > 0) {
    thread.backwards++;
    Py_RETURN_NONE;
  }
  settle(thread);
  if (!decide(thread, reached)) return nullptr;
  forget_backward(thread);
  PyFrameObject* frame = PyEval_GetFrame();
  PyFrameObject* caller = frame ? PyFrame_GetBack(frame) : nullptr;
  thread.backward = place_of(caller, nullptr);
  Py_XDECREF(caller);
  if (!enter_scope(backpropagation)) return nullptr;
  thread.backwards++;
  Py_RETURN_NONE;
}

PyObject* end_backward(PyObject*, PyObject*) {
  Thread& thread = t_thread;
  if (thread.backwards == 0 || --thread.backwards > 0) Py_RETURN_NONE;
  if (!thread.is_stepping && places[thread.backward].role != Role::kLearns) leave_scope(backpropagation);
  Py_RETURN_NONE;
}

PyObject* begin_step(PyObject*, PyObject*) {
  t_thread.is_stepping = true;
  if (!enter_scope(backpropagation)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* end_step(PyObject*, PyObject*) {
  Thread& thread = t_thread;
  thread.is_stepping = false;
  if (thread.backward) places[thread.backward].role = Role::kLearns;
  thread.backward = 0;
  leave_scope(backpropagation);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"follow_networks", follow_networks, METH_VARARGS,
     "follow_networks(function, inference, backpropagation, is_grad_enabled, graph_task, next_node)\n--\n\n"
     "Open the stage of the place from which a Python function is called. The last three are PyTorch's: whether "
     "gradients are on, the number of the backward in which this thread works or -1, and the number of the next node."},
    {"unfollow_networks", unfollow_networks, METH_NOARGS, "unfollow_networks()\n--\n\nPut the function back."},
    {"calls_to_examine", calls_to_examine, METH_NOARGS,
     "calls_to_examine()\n--\n\nOf calls since this thread's last backward, those of which begin_backward wants to know "
     "whether it reaches them: for each place the number of its first node and the one after its last."},
    {"begin_backward", begin_backward, METH_O,
     "begin_backward(reached)\n--\n\nThe caller of the calling function goes backward, through the calls at the places "
     "`reached` of those to examine."},
    {"end_backward", end_backward, METH_NOARGS,
     "end_backward()\n--\n\nThe backward is over; backpropagation is too, unless a step came next the last time."},
    {"begin_step", begin_step, METH_NOARGS, "begin_step()\n--\n\nAn optimizer begins its step."},
    {"end_step", end_step, METH_NOARGS, "end_step()\n--\n\nAn optimizer's step is over, and backpropagation with it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_network_calls(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
