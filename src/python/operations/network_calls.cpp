// What a network is called for shows in what follows the call; the rule is in record/single_file.py, and this is
// its half that runs at every call. The function that is followed stays the object it is, with another entry point.
#include "network_calls.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "hooked.h"
#include "scope.h"
#include "session.h"
#include "sites.h"

namespace rlscope {
namespace {

// A process learns what its places are from what it does first, so that the first window knows: from so many calls of
// networks. A step of an optimizer teaches as much as a thousand.
constexpr uint32_t kLessons = 100'000, kLessonsOfStep = 1000;

// What a place turned out to be the last time: of a network's call, or of a backward.
enum class Role : uint8_t {
  kActs,    // no backward followed: inference for the length of the call; of a backward: no step of an optimizer did
  kJoins,   // called several times for one backward: belongs to a backpropagation that is open, and opens none
  kLearns,  // a backward followed, or a step: backpropagation lasts from here
};

struct Place {
  Role role = Role::kActs;
  bool is_reached = false;   // whether what the call computed was part of what a backward went through
  bool is_unrolled = false;  // called several times for one backward, and known to learn nevertheless
  uint32_t backwards = 0;    // how many backwards came next
};

// A place's calls since the last backward.
struct Calls {
  uint64_t site;
  PyObject* network;  // not owned: told from others, never used
  bool are_several = false;
  uint64_t first_node = 0, end_node = 0;  // numbers of what the last call added to the graph, if that is to be examined
};

// How many outputs of networks, and distributions made of them, are remembered: an actor's and a critic's, and some more.
constexpr size_t kOutputs = 8;

// Guarded by the GIL, as everything here.
PyFunctionObject* followed;
vectorcallfunc original;
PyObject *inference, *backpropagation;
PyObject *is_grad_enabled, *graph_task, *next_node;  // functions of PyTorch
PyObject* reached;            // which calls a backward reaches
PyObject* reached_uncompiled;  // the same where torch.compile is loaded, which would read and compile that function
std::unordered_map<uint64_t, Place> places;
std::unordered_map<uint64_t, Place> sites;  // what places turned out to be that differ in the network alone
uint32_t lessons_left;
uint64_t passed;  // counts what was not followed

struct Thread {
  bool is_inside = false;    // in a network's call
  bool is_stepping = false;  // in an optimizer's step, which may call networks in a closure
  uint32_t backwards = 0;    // that are under way
  uint64_t backward = 0;     // the place of one that no step and no call of a network has followed yet
  uint64_t simulations = 0;
  uint64_t passed = 0;       // as counted when the rest was true
  std::unordered_map<uint64_t, Calls> calls;  // by place
  std::unordered_set<PyObject*> acting;       // networks that were called without gradients since the last backward
  // Weak references; a thread that ends leaves its last ones behind.
  std::array<PyObject*, kOutputs> outputs{};
  size_t next_output = 0;

  // Calls belong to one that is under way.
  bool is_busy() const { return is_inside || is_stepping || backwards > 0; }
};
thread_local Thread t_thread;

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

// The one weak reference to an object that everybody has, new; null without an exception if there can be none.
PyObject* reference_to(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return nullptr;
  PyObject* reference = PyWeakref_NewRef(object, nullptr);
  if (!reference) PyErr_Clear();
  return reference;
}

void remember(Thread& thread, PyObject* output) {
  PyObject* reference = reference_to(output);
  if (!reference) return;
  PyObject*& oldest = thread.outputs[thread.next_output++ % kOutputs];  // Py_XSETREF of Python 3.11 evaluates it twice
  Py_XSETREF(oldest, reference);
}

// The tensor of which this one is a view, or itself: new, as anything else is too.
PyObject* whole_of(PyObject* tensor) {
  PyObject* base = PyObject_GetAttrString(tensor, "_base");
  if (!base) PyErr_Clear();
  if (base && base != Py_None) return base;
  Py_XDECREF(base);
  return Py_NewRef(tensor);
}

void remember_output(Thread& thread, PyObject* output) {
  PyObject* whole = whole_of(output);
  remember(thread, whole);
  Py_DECREF(whole);
}

void remember_outputs(Thread& thread, PyObject* result) {
  if (!PyTuple_Check(result) && !PyList_Check(result)) return remember_output(thread, result);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++) {
    remember_output(thread, PySequence_Fast_GET_ITEM(result, i));
  }
}

bool is_remembered(Thread& thread, PyObject* object) {
  PyObject* reference = reference_to(object);
  bool is_it = reference && std::find(thread.outputs.begin(), thread.outputs.end(), reference) != thread.outputs.end();
  Py_XDECREF(reference);
  return is_it;
}

// A view of one is one too; a distribution may be made of another one.
bool is_output(Thread& thread, PyObject* value) {
  PyObject* whole = whole_of(value);
  bool is_it = is_remembered(thread, whole);
  Py_DECREF(whole);
  return is_it;
}

void forget_outputs(Thread& thread) {
  for (PyObject*& output : thread.outputs) Py_CLEAR(output);
}

// Between windows, once places are known, all that a call pays for. A stage that was left open ends here.
void pass() {
  passed++;
  StreamWriter* writer = t_writer;
  if (writer && writer->is_guessing()) writer->end();
}

// What this thread has done since something is followed; null while nothing is.
Thread* follow() {
  if (__builtin_expect(!Session::is_recording() && lessons_left == 0, 1)) {
    pass();
    return nullptr;
  }
  Thread& thread = t_thread;
  if (thread.passed != passed) {
    forget_outputs(thread);
    thread = Thread();
    thread.passed = passed;
  }
  return &thread;
}

void learn(uint32_t lessons) { lessons_left -= std::min(lessons, lessons_left); }

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
  forget_outputs(thread);
}

// The role of a call from this place, given what the place was the last time, or the site for another network.
Role role_of_call(Thread& thread, uint64_t place, uint64_t site, PyObject* network) {
  auto [calls, is_first] = thread.calls.try_emplace(place, Calls{site, network});
  calls->second.are_several = !is_first;
  auto [known, is_new] = places.try_emplace(place);
  if (is_new) {
    auto alike = sites.find(site);
    if (alike != sites.end()) known->second = alike->second;
    known->second.backwards = 0;
  }
  Role role = known->second.role;
  if (role == Role::kLearns && !is_first && !known->second.is_unrolled) return Role::kActs;  // not like the last time
  if (role == Role::kJoins && !is_open_guess(backpropagation)) return Role::kActs;
  return role;
}

struct Call {
  vectorcallfunc entry;
  PyObject* function;
  PyObject* const* values;
  size_t count;
  PyObject* names;

  PyObject* operator()() const { return entry(function, values, count, names); }
};

PyObject* call_within(PyObject* scope, bool lasts, const Call& call) {
  if (!enter_scope(scope)) return nullptr;
  PyObject* result = call();
  if (!lasts || !result) leave_scope(scope);
  return result;
}

PyObject* call_with_gradients(Thread& thread, PyObject* network, const Call& call) {
  uint64_t site = site_of(current_frame());
  uint64_t place = mix(site, reinterpret_cast<uint64_t>(network));
  Role role = role_of_call(thread, place, site, network);
  if (!is_examined(places[place].backwards + 1)) {
    return call_within(role == Role::kActs ? inference : backpropagation, role != Role::kActs, call);
  }
  auto first_node = static_cast<uint64_t>(ask(next_node));
  PyObject* result = call_within(role == Role::kActs ? inference : backpropagation, role != Role::kActs, call);
  auto calls = thread.calls.find(place);
  if (calls == thread.calls.end()) return result;  // the network itself has gone backward
  calls->second.first_node = first_node;
  calls->second.end_node = result ? static_cast<uint64_t>(ask(next_node)) : first_node;
  return result;
}

// `network` is told from others, and may be null.
PyObject* follow_call(PyObject* network, const Call& call) {
  Thread* thread = follow();
  if (!thread || thread->is_inside || thread->backwards > 0) return call();
  settle(*thread);
  learn(1);
  bool has_gradients = ask(is_grad_enabled) == 1;
  // A thread of the autograd engine calls networks to compute again what was not kept.
  if (has_gradients && ask(graph_task) != -1) return call();
  // A closure may act before it learns; what it calls with gradients is the step's.
  if (has_gradients && thread->is_stepping) return call_within(backpropagation, true, call);
  forget_backward(*thread);
  thread->is_inside = true;
  if (!has_gradients) thread->acting.insert(network);
  PyObject* result = has_gradients ? call_with_gradients(*thread, network, call) : call_within(inference, false, call);
  thread->is_inside = false;
  if (result) remember_outputs(*thread, result);
  return result;
}

PyObject* call_network(PyObject* function, PyObject* const* values, size_t count, PyObject* names) {
  PyObject* network = PyVectorcall_NARGS(count) > 0 ? values[0] : nullptr;
  return follow_call(network, Call{original, function, values, count, names});
}

// The compiler has made one function of a network and of what is computed around it, such as a loss.
PyObject* call_compiled(PyObject* hooked, PyObject* const* values, size_t count, PyObject* names) {
  Call call{PyObject_Vectorcall, function_of(hooked), values, count, names};
  return followed ? follow_call(hooked, call) : call();
}

// Nothing inside is followed: what compiles a function differentiates it without learning anything.
PyObject* call_unfollowed(PyObject* hooked, PyObject* const* values, size_t count, PyObject* names) {
  Call call{PyObject_Vectorcall, function_of(hooked), values, count, names};
  Thread* thread = followed ? follow() : nullptr;
  if (!thread) return call();
  thread->backwards++;
  PyObject* result = call();
  if ((thread = follow()) && thread->backwards > 0) thread->backwards--;
  return result;
}

PyObject* follow_compiled(PyObject*, PyObject* args) {
  PyObject *hooked, *has_network;
  if (!PyArg_ParseTuple(args, "OO!", &hooked, &PyBool_Type, &has_network)) return nullptr;
  set_entry(hooked, has_network == Py_True ? call_compiled : call_unfollowed);
  return Py_NewRef(hooked);
}

// Whether a distribution is made of what a network has computed, or this is a method of one that was.
template <bool is_made>
bool is_of_network(Thread& thread, PyObject* const* values, size_t count, PyObject* names) {
  Py_ssize_t positional = PyVectorcall_NARGS(count);
  if (!is_made) return positional > 0 && is_remembered(thread, values[0]);
  Py_ssize_t all = positional + (names ? PyTuple_GET_SIZE(names) : 0);
  return std::any_of(values + std::min<Py_ssize_t>(all, 1), values + all,
                     [&](PyObject* value) { return is_output(thread, value); });
}

// What a distribution of a network's output does is what the network was called for.
template <bool is_made>
PyObject* call_distribution(PyObject* hooked, PyObject* const* values, size_t count, PyObject* names) {
  Thread* thread = followed ? follow() : nullptr;
  Call call{PyObject_Vectorcall, function_of(hooked), values, count, names};
  if (!thread || thread->is_busy()) return call();
  settle(*thread);
  if (!is_of_network<is_made>(*thread, values, count, names)) return call();
  thread->is_inside = true;
  PyObject* result = is_open_guess(backpropagation) ? call() : call_within(inference, false, call);
  thread->is_inside = false;
  if (is_made && result) remember(*thread, values[0]);
  return result;
}

PyObject* follow_distribution(PyObject*, PyObject* args) {
  PyObject *hooked, *is_made;
  if (!PyArg_ParseTuple(args, "OO!", &hooked, &PyBool_Type, &is_made)) return nullptr;
  set_entry(hooked, is_made == Py_True ? call_distribution<true> : call_distribution<false>);
  return Py_NewRef(hooked);
}

PyObject* follow_networks(PyObject*, PyObject* args) {
  PyObject *function, *acts, *learns, *grad_enabled, *task, *node;
  if (!PyArg_ParseTuple(args, "O!OOOOO", &PyFunction_Type, &function, &acts, &learns, &grad_enabled, &task, &node)) {
    return nullptr;
  }
  if (followed) Py_RETURN_NONE;
  lessons_left = kLessons;
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
  sites.clear();
  forget_outputs(t_thread);
  t_thread = Thread();
  Py_RETURN_NONE;
}

PyObject* is_followed(PyObject*, PyObject*) { return PyBool_FromLong(follow() != nullptr); }

// Of calls since the last backward, those of which is asked whether it reaches them: for each place the number of its
// first node and the one after its last. New.
PyObject* calls_to_examine(const Thread& thread) {
  PyObject* found = PyDict_New();
  for (auto& [place, calls] : thread.calls) {
    if (!found) break;
    if (!is_examined(places[place].backwards + 1)) continue;
    PyObject* key = PyLong_FromUnsignedLongLong(place);
    PyObject* nodes = Py_BuildValue("(KK)", calls.first_node, calls.end_node);
    int error = key && nodes ? PyDict_SetItem(found, key, nodes) : -1;
    Py_XDECREF(key);
    Py_XDECREF(nodes);
    if (error != 0) Py_CLEAR(found);
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
    // An environment that nobody knows may have stepped between calls, but not where it is known, nor where the network
    // acts elsewhere.
    place.is_unrolled |= calls.are_several && (thread.simulations > 0 || thread.acting.count(calls.network) > 0);
    bool may_act = calls.are_several && !place.is_unrolled;
    place.role = !place.is_reached ? Role::kActs : may_act ? Role::kJoins : Role::kLearns;
    sites[calls.site] = place;
  }
  thread.calls.clear();
  thread.acting.clear();
  return true;
}

PyObject* calls_reached(PyObject* outputs, PyObject* calls) {
  bool may_compile = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._dynamo");
  return PyObject_CallFunctionObjArgs(may_compile ? reached_uncompiled : reached, outputs, calls, nullptr);
}

// What is gone backward from are `outputs`, a sequence.
bool begin_backward(Thread& thread, PyObject* outputs) {
  if (thread.backwards++ > 0) return true;
  settle(thread);
  PyObject* calls = calls_to_examine(thread);
  PyObject* found = !calls                   ? nullptr
                    : PyDict_GET_SIZE(calls) ? calls_reached(outputs, calls)
                                             : Py_NewRef(calls);
  Py_XDECREF(calls);
  bool is_decided = found && decide(thread, found);
  Py_XDECREF(found);
  forget_backward(thread);
  forget_outputs(thread);
  thread.backward = site_of(current_frame());
  if (is_decided && enter_scope(backpropagation)) return true;
  thread.backwards--;
  return false;
}

// Backpropagation is over too, unless a step came next the last time.
void end_backward(Thread& thread) {
  if (thread.backwards == 0 || --thread.backwards > 0) return;
  if (!thread.is_stepping && places[thread.backward].role != Role::kLearns) leave_scope(backpropagation);
}

// Goes backward from its first argument. A call without a frame of Python: compilers see none that they could read.
PyObject* call_backward(PyObject* hooked, PyObject* const* values, size_t count, PyObject* names) {
  Thread* thread = followed && PyVectorcall_NARGS(count) > 0 ? follow() : nullptr;
  Call call{PyObject_Vectorcall, function_of(hooked), values, count, names};
  if (!thread) return call();
  if (!begin_backward(*thread, values[0])) return nullptr;
  PyObject* result = call();
  if ((thread = follow())) end_backward(*thread);
  return result;
}

PyObject* follow_backward(PyObject*, PyObject* args) {
  PyObject *hooked, *function, *uncompiled;
  if (!PyArg_ParseTuple(args, "OOO", &hooked, &function, &uncompiled)) return nullptr;
  Py_XSETREF(reached, Py_NewRef(function));
  Py_XSETREF(reached_uncompiled, Py_NewRef(uncompiled));
  set_entry(hooked, call_backward);
  return Py_NewRef(hooked);
}

PyObject* begin_step(PyObject*, PyObject*) {
  Thread* thread = follow();
  if (!thread) Py_RETURN_NONE;
  thread->is_stepping = true;
  if (!enter_scope(backpropagation)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* end_step(PyObject*, PyObject*) {
  Thread* thread = follow();
  if (!thread) Py_RETURN_NONE;
  learn(kLessonsOfStep);
  thread->is_stepping = false;
  if (thread->backward) places[thread->backward].role = Role::kLearns;
  thread->backward = 0;
  leave_scope(backpropagation);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"follow_networks", follow_networks, METH_VARARGS,
     "follow_networks(function, inference, backpropagation, is_grad_enabled, graph_task, next_node)\n--\n\n"
     "Open the stage of the place from which a Python function is called. The last three are PyTorch's: whether "
     "gradients are on, the number of the backward in which this thread works or -1, and the number of the next node."},
    {"follow_distribution", follow_distribution, METH_VARARGS,
     "follow_distribution(hooked, is_made)\n--\n\nCalls of a `Hooked`, a method of a distribution or the one that makes "
     "it, are inference where it is of what a network has computed. Returns it."},
    {"follow_compiled", follow_compiled, METH_VARARGS,
     "follow_compiled(hooked, has_network)\n--\n\nCalls of a `Hooked`, a function that was compiled or one that compiles, "
     "are calls of a network if it has one. If not, nothing that is called in it is followed. Returns it."},
    {"unfollow_networks", unfollow_networks, METH_NOARGS, "unfollow_networks()\n--\n\nPut the function back."},
    {"is_followed", is_followed, METH_NOARGS,
     "is_followed()\n--\n\nWhether stages are opened now: while something records, and while the process still learns which "
     "places do what."},
    {"follow_backward", follow_backward, METH_VARARGS,
     "follow_backward(hooked, reached, uncompiled)\n--\n\nCalls of a `Hooked` go backward from their first argument. "
     "`reached(outputs, calls)` returns the places of those calls that this reaches: for each place the number of the "
     "first node of its call and the one after the last. `uncompiled` does the same, hidden from torch.compile, and is "
     "called where that is loaded. Returns the `Hooked`."},
    {"begin_step", begin_step, METH_NOARGS, "begin_step()\n--\n\nAn optimizer begins its step."},
    {"end_step", end_step, METH_NOARGS, "end_step()\n--\n\nAn optimizer's step is over, and backpropagation with it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_network_calls(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
