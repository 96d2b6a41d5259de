// Whoever waits for an object that was launched does so in the operation that launched it, wherever it waits: as device work
// counts, on a CPU too.
#include "launched_objects.h"

#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "arguments.h"
#include "pointer_swaps.h"
#include "scope.h"
#include "session.h"
#include "vocabulary.h"

namespace rlscope {
namespace {

// By address, guarded by the GIL. An object that is made where another one died takes its place here, since all of them are
// noted when they are made.
std::unordered_map<PyObject*, Launch>& launches() {
  static auto* launches = new std::unordered_map<PyObject*, Launch>;
  return *launches;
}
uint64_t launched;
allocfunc original_allocate;
PyTypeObject* base_of_launched;
PyObject* held;  // the attribute under which other objects of that base have one, or null

// Not the training loop itself, nor a callback or log: these are around what computes.
bool is_of_algorithm(const Place& place) {
  return place.stage > Stage::kTrainingLoop || (place.operation != 0 && Session::stage_of(place.operation) == Stage::kNone);
}

PyObject* allocate(PyTypeObject* type, Py_ssize_t items) {
  PyObject* object = original_allocate(type, items);
  StreamWriter* writer = object ? Session::writer() : nullptr;
  if (!writer) return object;
  Place place = Session::place_of(*writer);
  Origin origin = t_origin;
  if (origin.is_known() || is_of_algorithm(place)) {
    launches()[object] = {place, launched++, origin};
  } else {
    launches().erase(object);
  }
  return object;
}

// Of an object, or of those in a list the one that was launched last, on which the others hardly wait.
const Launch* launch_awaited(PyObject* awaited) {
  if (!PyList_CheckExact(awaited)) return launch_of(awaited);
  const Launch* last = nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(awaited); i++) {
    const Launch* launch = launch_of(PyList_GET_ITEM(awaited, i));
    if (launch && (!last || launch->number > last->number)) last = launch;
  }
  return last;
}

// What only waits returns what it was given, or nothing.
bool is_value(PyObject* result, PyObject* awaited) { return result && result != awaited && result != Py_None; }
bool is_value(int error, PyObject*) { return error == 0; }

// A function that waits, or the slot of a type through which others get an object's memory.
struct Awaiting {
  std::string name;
  Category category;
  void* original;
  CodedId id;  // id 0 until first called
};
constexpr size_t kMostAwaiting = 8;
Awaiting awaiting[kMostAwaiting];
size_t used;

// An operation of this name is a stage and nothing else.
uint32_t operation_of(Stage stage) {
  static uint32_t ids[kStages];
  uint32_t& id = ids[static_cast<size_t>(stage)];
  if (id == 0) id = Session::intern(NameKind::kOperation, Category::kPython, kStageLabels[static_cast<size_t>(stage)]).id;
  return id;
}

// Opens what the object was launched in, as far as the thread is not there.
void reopen(StreamWriter* writer, const Launch& launch) {
  Place here = Session::place_of(*writer), there = launch.place;
  if (here == there) return;
  bool is_in_stage = there.stage <= Stage::kTrainingLoop || here.stage == there.stage;
  uint32_t stage = is_in_stage ? 0 : operation_of(there.stage);
  if (stage != 0) reopen_operation(writer, stage);
  if (there.operation != stage) reopen_operation(writer, there.operation);
}

// As elsewhere without destructors: see trampolines.cpp.
template <class Result, class... Arguments>
Result await(Awaiting& function, PyObject* awaited, Arguments... arguments) {
  auto original = reinterpret_cast<Result (*)(Arguments...)>(function.original);
  StreamWriter* writer = Session::recording_writer();
  if (!writer) return original(arguments...);
  if (function.id.id == 0) function.id = Session::intern(NameKind::kBoundary, function.category, function.name);
  uint32_t outside = writer->depth();
  const Launch* launch = awaited ? launch_awaited(awaited) : nullptr;
  Origin origin = launch ? launch->origin : Origin();
  if (launch) reopen(writer, *launch);
  uint32_t inside = writer->depth();
  bool is_begun = writer->begin(function.id);
  Result result = original(arguments...);
  if (t_writer == writer) {  // differs in a child forked off inside
    if (is_begun) writer->end_to(inside);
    while (writer->depth() > outside) end_reopened(writer);
    if (origin.is_known() && is_value(result, awaited)) note_read(writer, origin);
  }
  return result;
}

template <size_t index>
PyObject* await_in_call(PyObject* function, PyObject* const* arguments, size_t count, PyObject* names) {
  PyObject* awaited = PyVectorcall_NARGS(count) > 0 ? arguments[0] : nullptr;
  return await<PyObject*>(awaiting[index], awaited, function, arguments, count, names);
}

template <size_t index>
int await_memory(PyObject* object, Py_buffer* view, int flags) {
  return await<int>(awaiting[index], object, object, view, flags);
}

struct StandIns {
  vectorcallfunc call;
  getbufferproc memory;
};
template <size_t... indices>
constexpr std::array<StandIns, sizeof...(indices)> make_stand_ins(std::index_sequence<indices...>) {
  return {{{await_in_call<indices>, await_memory<indices>}...}};
}
constexpr auto stand_ins = make_stand_ins(std::make_index_sequence<kMostAwaiting>());

// Puts a stand-in at `where`; false where all are in use.
template <class Function>
bool put_stand_in(Function* where, Function StandIns::*kind, const char* name, Category category, PyObject* owner) {
  auto** pointer = reinterpret_cast<void**>(where);
  if (is_swapped(pointer)) return true;
  size_t index = 0;
  while (index < used && awaiting[index].name != name) index++;
  if (index == kMostAwaiting) return false;
  if (index == used) awaiting[used++] = {name, category, nullptr, {0, 0, 0}};
  awaiting[index].original = *pointer;
  swap_pointer(pointer, reinterpret_cast<void*>(stand_ins[index].*kind), owner);
  return true;
}

PyObject* report(bool has_room) {
  if (has_room) Py_RETURN_TRUE;
  return PyErr_Format(PyExc_RuntimeError, "all %zu stand-ins for functions that wait are in use", kMostAwaiting);
}

PyObject* follow_launched(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  const char* held_as = "";
  if (!PyArg_ParseTuple(args, "O!sO&|s", &PyType_Type, &object, &name, parse_category, &category, &held_as)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  auto** where = reinterpret_cast<void**>(&type->tp_alloc);
  PyBufferProcs* procedures = type->tp_as_buffer;
  bool is_other = original_allocate && original_allocate != type->tp_alloc;  // one original serves all types
  if (!is_swapped(where) && (!type->tp_alloc || is_other)) Py_RETURN_FALSE;
  if (!procedures || !procedures->bf_getbuffer) Py_RETURN_FALSE;
  if (!is_swapped(where)) {
    launches().clear();  // of those who may have died since an earlier recording
    original_allocate = type->tp_alloc;
    base_of_launched = type->tp_base;
    Py_XSETREF(held, *held_as ? PyUnicode_InternFromString(held_as) : nullptr);
    swap_pointer(where, reinterpret_cast<void*>(allocate), object);
  }
  return report(put_stand_in(&procedures->bf_getbuffer, &StandIns::memory, name, category, object));
}

PyObject* intercept_awaiting(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "OsO&", &object, &name, parse_category, &category)) return nullptr;
  vectorcallfunc* where = entry_of(object);
  if (!where || !*where) Py_RETURN_FALSE;
  return report(put_stand_in(where, &StandIns::call, name, category, object));
}

PyMethodDef functions[] = {
    {"follow_launched", follow_launched, METH_VARARGS,
     "follow_launched(type, name, category, held='')\n--\n\nNote in which operation each object of a type is made that gets "
     "its values later, and record who waits for them to get the object's memory. Other objects of its base class may have "
     "one under the attribute `held`. False: it cannot be followed."},
    {"intercept_awaiting", intercept_awaiting, METH_VARARGS,
     "intercept_awaiting(function, name, category)\n--\n\nRecord calls of a function that waits for such an object, its first "
     "argument, or for all in a list, in the operation that made it. False: it cannot be intercepted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

const Launch* launch_of(PyObject* object) {
  if (Py_TYPE(object)->tp_alloc == allocate) {
    auto found = launches().find(object);
    return found == launches().end() ? nullptr : &found->second;
  }
  if (!held || !PyObject_TypeCheck(object, base_of_launched)) return nullptr;
  PyObject* inside = PyObject_GetAttr(object, held);
  if (!inside) PyErr_Clear();
  const Launch* launch = inside && inside != object ? launch_of(inside) : nullptr;
  Py_XDECREF(inside);
  return launch;
}

bool add_launched_objects(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
