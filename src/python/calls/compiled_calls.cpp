// One entry point serves all compiled functions of a type: a trampoline of its own would keep each of them alive, and a
// program may make any number.
#include "compiled_calls.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "acting_calls.h"
#include "arguments.h"
#include "launched_objects.h"
#include "pointer_swaps.h"
#include "scope.h"
#include "session.h"

namespace rlscope {

namespace {

struct CompiledFunction {
  vectorcallfunc original;
  Category category;
  std::string name;
  CodedId id;        // id 0 until first called
  PyObject* label;   // the scope around its calls, or null
  Following following;
};

// By address. An object that is made where another one died takes its place here, since all are intercepted when made.
std::unordered_map<PyObject*, CompiledFunction>& functions_by_object() {
  static auto* functions = new std::unordered_map<PyObject*, CompiledFunction>;
  return *functions;
}

// What a call is given says where that came from, but for what lies in a structure, as parameters do.
Inputs inputs_of(PyObject* const* arguments, size_t count, PyObject* names) {
  Inputs inputs;
  Py_ssize_t all = PyVectorcall_NARGS(count) + (names ? PyTuple_GET_SIZE(names) : 0);
  for (Py_ssize_t i = 0; i < all; i++) {
    if (const Launch* launch = launch_of(arguments[i])) inputs.add(launch->origin, launch->place.stage);
  }
  return inputs;
}

// Where what it makes came from.
Origin follow(StreamWriter* writer, const CompiledFunction& function, const Inputs& inputs) {
  if (!function.label) return follow_call(writer, function.following, inputs);
  follow_labelled(writer, Session::stage_of(id_of_scope(function.label)), inputs);
  return {};
}

// Without destructors, as every trampoline: see trampolines.cpp.
PyObject* call(PyObject* object, PyObject* const* arguments, size_t count, PyObject* names) {
  CompiledFunction& function = functions_by_object().find(object)->second;
  vectorcallfunc original = function.original;
  StreamWriter* writer = Session::recording_writer();
  if (!writer) return original(object, arguments, count, names);
  if (function.id.id == 0) function.id = Session::intern(NameKind::kBoundary, function.category, function.name);
  PyObject* label = function.label;
  Origin outer = t_origin;
  if (function.following.acting) t_origin = follow(writer, function, inputs_of(arguments, count, names));
  if (label && !enter_scope(label)) return nullptr;
  uint32_t depth = writer->depth();
  bool is_begun = writer->begin(function.id);
  PyObject* result = original(object, arguments, count, names);
  t_origin = outer;
  if (is_begun && t_writer == writer) writer->end_to(depth);
  if (label) leave_scope(label);
  return result;
}

PyObject* intercept_compiled(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "OsO&", &object, &name, parse_category, &category)) return nullptr;
  vectorcallfunc* entry = entry_of(object);
  if (!entry || !*entry) Py_RETURN_FALSE;
  if (*entry == call) Py_RETURN_TRUE;
  functions_by_object()[object] = {*entry, category, name, {0, 0, 0}, nullptr, {}};
  *entry = call;
  Py_RETURN_TRUE;
}

PyObject* label_compiled(PyObject*, PyObject* args) {
  PyObject *object, *label;
  if (!PyArg_ParseTuple(args, "OO", &object, &label)) return nullptr;
  auto found = functions_by_object().find(object);
  // Scopes live as long as the process.
  if (found != functions_by_object().end()) found->second.label = label == Py_None ? nullptr : label;
  Py_RETURN_NONE;
}

PyObject* follow_acting(PyObject*, PyObject* args) {
  PyObject *object, *acting, *package, *is_library;
  if (!PyArg_ParseTuple(args, "OOUO!", &object, &acting, &package, &PyBool_Type, &is_library)) return nullptr;
  auto found = functions_by_object().find(object);
  if (found != functions_by_object().end()) {
    Py_INCREF(package);
    PyUnicode_InternInPlace(&package);
    found->second.following = {acting, package, is_library == Py_True};
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"intercept_compiled", intercept_compiled, METH_VARARGS,
     "intercept_compiled(object, name, category)\n--\n\nRecord calls of an object that may die, with an entry point of "
     "its own. False: it has none."},
    {"label_compiled", label_compiled, METH_VARARGS,
     "label_compiled(object, scope)\n--\n\nRun calls of an object that intercept_compiled() took inside a scope."},
    {"follow_acting", follow_acting, METH_VARARGS,
     "follow_acting(object, guessed, package, is_library)\n--\n\nFollow calls of an object that intercept_compiled() took: "
     "where no scope is set, those are in the guessed stage of which an environment takes what they return. The package "
     "made it, and may have called it for the program; a function of a library serves all purposes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

// An object that is gone must not be touched, so the living are looked for.
void restore_compiled_calls() {
  auto& functions = functions_by_object();
  if (functions.empty()) return;
  PyObject* collector = PyImport_ImportModule("gc");
  PyObject* objects = collector ? PyObject_CallMethod(collector, "get_objects", nullptr) : nullptr;
  Py_ssize_t count = objects ? PyList_GET_SIZE(objects) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* object = PyList_GET_ITEM(objects, i);
    auto found = functions.find(object);
    vectorcallfunc* entry = found == functions.end() ? nullptr : entry_of(object);
    if (entry && *entry == call) *entry = found->second.original;
  }
  Py_XDECREF(objects);
  Py_XDECREF(collector);
  PyErr_Clear();
}

bool add_compiled_calls(PyObject* module) { return PyModule_AddFunctions(module, methods) == 0; }

}  // namespace rlscope
