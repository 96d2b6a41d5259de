// Scope objects: one per name, without state of their own, so that entering needs no allocation and threads share them.
#include "scope.h"

#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "session.h"
#include "tasks.h"
#include "vocabulary.h"

namespace rlscope {

__thread bool t_is_leaving_scope __attribute__((tls_model("initial-exec")));

namespace {

// What a scope stands for, and where it opens nothing.
enum class Flavour : uint8_t {
  kOperation,
  kPhase,
  kCallback,
  kSimulatorCall,
  kWaitCall,
  kGuessedStage,      // opens nothing inside any stage that is not guessed
  kJoiningStage,      // opens nothing inside a frame that is in this stage already
  kDefaultOperation,  // opens nothing inside any stage
};
constexpr size_t kFlavours = 8;

struct Scope {
  PyObject_HEAD
  PyObject* name;
  PyObject* enter;  // __enter__ and __exit__ of this very object, made once: `with` would bind them anew each time
  PyObject* exit;
  Flavour flavour;
  Stage stage;  // that an operation of this name is; kNone: no stage
  CodedId id;   // id 0 until first recorded

  NameKind kind() const {
    if (flavour == Flavour::kPhase) return NameKind::kPhase;
    bool is_boundary = flavour >= Flavour::kCallback && flavour <= Flavour::kWaitCall;
    return is_boundary ? NameKind::kBoundary : NameKind::kOperation;
  }
  Category category() const {
    if (flavour == Flavour::kWaitCall) return Category::kWait;
    return flavour == Flavour::kSimulatorCall ? Category::kSimulator : Category::kPython;
  }
  // One of the operations that every breakdown is grouped by.
  bool is_stage() const { return stage > Stage::kTrainingLoop && !leaves_stage(); }
  bool leaves_stage() const { return stage == kLeavesStage; }
  // Says what the program does now, so that nothing needs to be guessed any more.
  bool ends_guess() const { return stage != Stage::kNone; }
  bool is_guess() const { return flavour == Flavour::kGuessedStage; }
  // An outer scope may stand in for it.
  bool is_joining() const { return flavour >= Flavour::kJoiningStage; }
};

PyTypeObject* scope_type;
PyObject* scopes_by_name[kFlavours];  // a dict for each flavour

Scope* as_scope(PyObject* object) { return reinterpret_cast<Scope*>(object); }

// Any name can be recorded: what UTF-8 cannot hold is escaped.
bool intern(Scope* scope) {
  PyObject* text = PyUnicode_AsEncodedString(scope->name, "utf-8", "backslashreplace");
  if (!text) return false;
  std::string_view view(PyBytes_AS_STRING(text), static_cast<size_t>(PyBytes_GET_SIZE(text)));
  scope->id = Session::intern(scope->kind(), scope->category(), view);
  Py_DECREF(text);
  return true;
}

// A guess is a stage that is not certain.
__attribute__((hot)) bool is_in_any_stage(StreamWriter* writer, bool also_guessed) {
  for (uint32_t depth = writer->depth(); depth > 0; depth--) {
    const StreamWriter::Frame& frame = writer->frame(depth - 1);
    if (frame.leaves_stage) return false;
    if (frame.is_stage && (also_guessed || !frame.is_guess)) return true;
  }
  return false;
}

__attribute__((hot)) bool is_in_stage(StreamWriter* writer, uint32_t id) {
  for (uint32_t depth = writer->depth(); depth > 0; depth--) {
    const StreamWriter::Frame& frame = writer->frame(depth - 1);
    if (frame.is_stage || frame.leaves_stage) return frame.id == id;
  }
  return false;
}

__attribute__((hot)) inline void note_stage(StreamWriter::Frame& frame, const Scope* scope) {
  frame.is_stage = scope->is_stage();
  frame.leaves_stage = scope->leaves_stage();
}

// One guess is open at a time, and only where nobody knows better.
__attribute__((hot)) void enter_guess(StreamWriter* writer, Scope* scope) {
  if (writer->is_guessing()) {
    if (writer->frame(writer->depth() - 1).id == scope->id.id) return;
    writer->end();
  }
  if (is_in_any_stage(writer, /*also_guessed=*/false) || !writer->begin(scope->id)) return;
  StreamWriter::Frame& frame = writer->frame(writer->depth() - 1);
  frame.is_stage = frame.is_guess = true;
}

// Whether a scope that lets an outer one stand in for it does so here.
__attribute__((hot)) bool is_joined(StreamWriter* writer, Scope* scope) {
  return scope->flavour == Flavour::kDefaultOperation ? is_in_any_stage(writer, /*also_guessed=*/true) : is_in_stage(writer, scope->id.id);
}

// Called once when so many simulations have begun; guarded by the GIL.
uint64_t simulations_until_notice;
PyObject* notice;

void count_towards_notice() {
  if (simulations_until_notice == 0 || --simulations_until_notice > 0) return;
  PyObject* called = std::exchange(notice, nullptr);
  PyObject* result = PyObject_CallNoArgs(called);
  if (!result) PyErr_WriteUnraisable(called);
  Py_XDECREF(result);
  Py_DECREF(called);
}

PyObject* after_simulations(PyObject*, PyObject* args) {
  unsigned long long count;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "KO:after_simulations", &count, &function)) return nullptr;
  simulations_until_notice = count;
  Py_XSETREF(notice, count ? Py_NewRef(function) : nullptr);
  Py_RETURN_NONE;
}

// Begins an operation of a coroutine or generator; false if it is the thread's.
bool begin_in_task(StreamWriter* writer, Scope* scope, PythonFrame* frame) {
  PythonFrame* task = task_frame(frame);
  if (!task || !follow_task_events(task)) return false;
  if (!writer->begin(scope->id)) return true;
  note_stage(writer->frame(writer->depth() - 1), scope);
  begun_in_task(writer, task);
  return true;
}

// `frame` is of the function that enters the scope.
__attribute__((hot)) inline PyObject* enter_in(PyObject* self, PythonFrame* frame) {
  Scope* scope = as_scope(self);
  StreamWriter* writer = Session::writer();
  if (!writer) {
    if (scope->stage == Stage::kSimulation) count_towards_notice();  // a run of which windows are recorded
  } else {
    if (__builtin_expect(scope->id.id == 0, 0) && !intern(scope)) return nullptr;
    if (scope->is_guess()) {
      enter_guess(writer, scope);
      return Py_NewRef(self);
    }
    if (scope->ends_guess()) {
      if (writer->is_guessing()) writer->end();
      if (scope->stage == Stage::kSimulation) writer->count_simulation();
    }
    uint32_t depth = writer->depth();
    if (depth == 0 && scope->flavour == Flavour::kCallback) writer->serves_native_code();
    if (scope->is_joining() && is_joined(writer, scope)) {
      writer->frame(depth - 1).joins++;
    } else if (__builtin_expect(scope->kind() == NameKind::kOperation && frame && runs_in_steps(code_of(frame)), 0) &&
               begin_in_task(writer, scope, frame)) {
    } else if (depth > 0 && writer->frame(depth - 1).id == scope->id.id) {
      writer->frame(depth - 1).repeats++;
    } else if (writer->begin(scope->id)) {
      note_stage(writer->frame(depth), scope);
      if (__builtin_expect(are_tasks_running(), 0) && scope->kind() == NameKind::kOperation) begun_inside_task(writer);
      if (scope->stage == Stage::kSimulation) count_towards_notice();
    }
  }
  return Py_NewRef(self);
}

// Since Python 3.15 contextlib.ExitStack calls this, before that the class's.
__attribute__((hot)) PyObject* enter(PyObject* self, PyObject*) {
#if PY_VERSION_HEX < 0x030F0000
  return enter_in(self, current_frame());
#else
  return enter_in(self, frame_outside_contextlib(current_frame()));
#endif
}

PyObject* enter_of_class(PyObject* self, PyObject*) { return enter_in(self, frame_outside_contextlib(current_frame())); }

// For a context manager in Python that stands for the scope: the operation is of what runs its block.
PyObject* enter_for_caller(PyObject*, PyObject* args) {
  PyObject* scope;
  int depth;
  if (!PyArg_ParseTuple(args, "O!i", scope_type, &scope, &depth)) return nullptr;
  PythonFrame* frame = current_frame();
  for (; frame && depth > 0; depth--) frame = caller_of(frame);
  return enter_in(scope, frame_outside_contextlib(frame));
}

__attribute__((hot)) inline void leave_frame(StreamWriter* writer, uint32_t depth) {
  t_is_leaving_scope = true;
  writer->end_to(depth);
  t_is_leaving_scope = false;
}

// Ends the operation that is frame number `depth`, and those inside it.
__attribute__((hot)) inline void end_operation(StreamWriter* writer, uint32_t depth) {
  bool is_of_task = writer->frame(depth).is_of_task;
  leave_frame(writer, depth);
  if (is_of_task) ended_in_task(writer, depth);
}

// Finds the scope among the frames above the innermost native call, which is not ours to close. One that is not there
// was closed by an outer one, and counted then, or was opened before recording started.
__attribute__((hot)) void leave(StreamWriter* writer, uint32_t id) {
  for (uint32_t depth = writer->depth(); depth > 0; depth--) {
    StreamWriter::Frame& frame = writer->frame(depth - 1);
    if (frame.id == id) {
      if (frame.repeats > 0 && depth == writer->depth()) {
        frame.repeats--;
      } else {
        end_operation(writer, depth - 1);
      }
      return;
    }
    if (Session::kind_of(frame.id) == NameKind::kBoundary) return;
  }
}

__attribute__((hot)) PyObject* exit_block(PyObject* self, PyObject* const*, Py_ssize_t) {
  Scope* scope = as_scope(self);
  StreamWriter* writer = t_writer;
  if (writer && scope->id.id != 0) {
    if (scope->is_guess()) {
      if (writer->is_guessing()) writer->end();
      Py_RETURN_NONE;
    }
    uint32_t depth = writer->depth();
    if (__builtin_expect(depth > 0, 1)) {
      StreamWriter::Frame& top = writer->frame(depth - 1);
      if (scope->is_joining() && top.joins > 0) {
        top.joins--;
      } else if (__builtin_expect(top.id == scope->id.id && top.repeats == 0 && !top.is_of_task, 1)) {
        leave_frame(writer, depth - 1);
      } else {
        leave(writer, scope->id.id);
      }
    }
  }
  Py_RETURN_NONE;
}

// As a decorator. The wrapper is Python, so that it looks and pickles like any function.
PyObject* decorate(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* function;
  static const char* names[] = {"function", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", const_cast<char**>(names), &function)) return nullptr;
  PyObject* module = PyImport_ImportModule("rlscope.record.declared.decorator");
  if (!module) return nullptr;
  PyObject* wrapped = PyObject_CallMethod(module, "scoped", "OO", function, self);
  Py_DECREF(module);
  return wrapped;
}

PyMethodDef enter_method = {"__enter__", enter, METH_NOARGS, nullptr};
PyMethodDef enter_of_class_method = {"__enter__", enter_of_class, METH_NOARGS, nullptr};
PyMethodDef exit_method = {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exit_block)),
                           METH_FASTCALL, nullptr};

// What a type has in the place of `__enter__`: gives each scope's own bound method, and the class's to the class.
struct Binding {
  PyObject_HEAD
  PyObject* method;
  PyObject* Scope::*bound;
};

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  auto* binding = reinterpret_cast<Binding*>(self);
  return Py_NewRef(object ? as_scope(object)->*binding->bound : binding->method);
}

PyType_Slot binding_slots[] = {{Py_tp_descr_get, reinterpret_cast<void*>(bind)}, {0, nullptr}};
PyType_Spec binding_spec = {"rlscope._native.Binding", sizeof(Binding), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, binding_slots};

bool add_binding(PyTypeObject* bindings, PyMethodDef* method, PyObject* Scope::*bound) {
  Binding* binding = PyObject_New(Binding, bindings);
  if (!binding) return false;
  binding->method = PyDescr_NewMethod(scope_type, method);
  binding->bound = bound;
  auto* object = reinterpret_cast<PyObject*>(binding);
  return binding->method && PyObject_SetAttrString(reinterpret_cast<PyObject*>(scope_type), method->ml_name, object) == 0;
}

bool add_bindings() {
  PyObject* bindings = PyType_FromSpec(&binding_spec);
  return bindings && add_binding(reinterpret_cast<PyTypeObject*>(bindings), &enter_of_class_method, &Scope::enter) &&
         add_binding(reinterpret_cast<PyTypeObject*>(bindings), &exit_method, &Scope::exit);
}

const char* constructor_name(Scope* scope) { return scope->flavour == Flavour::kPhase ? "phase" : "operation"; }

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("rlscope.%s(%R)", constructor_name(as_scope(self)), as_scope(self)->name);
}

PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* module = PyImport_ImportModule("rlscope");
  if (!module) return nullptr;
  PyObject* constructor = PyObject_GetAttrString(module, constructor_name(as_scope(self)));
  Py_DECREF(module);
  return constructor ? Py_BuildValue("N(O)", constructor, as_scope(self)->name) : nullptr;
}

PyMethodDef scope_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef scope_members[] = {
    {"name", T_OBJECT_EX, offsetof(Scope, name), READONLY, "the name in tables and figures"},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot scope_slots[] = {
    {Py_tp_methods, scope_methods},
    {Py_tp_members, scope_members},
    {Py_tp_call, reinterpret_cast<void*>(decorate)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_doc, const_cast<char*>("A named part of the program: a context manager and a decorator.")},
    {0, nullptr},
};
PyType_Spec scope_spec = {"rlscope._native.Scope", sizeof(Scope), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, scope_slots};

// No stage has a name that is not ASCII.
Stage stage_of(PyObject* name) {
  if (!PyUnicode_IS_ASCII(name)) return Stage::kNone;
  return stage_of_name({static_cast<const char*>(PyUnicode_DATA(name)), static_cast<size_t>(PyUnicode_GET_LENGTH(name))});
}

PyObject* scope_named(Flavour flavour, PyObject* name);

// All flavours of a stage are one name in the trace.
bool take_id_of_operation(Scope* scope) {
  PyObject* plain = scope_named(Flavour::kOperation, scope->name);
  if (!plain || (as_scope(plain)->id.id == 0 && !intern(as_scope(plain)))) return false;
  scope->id = as_scope(plain)->id;
  Py_DECREF(plain);
  return true;
}

PyObject* make_scope(Flavour flavour, PyObject* name) {
  Scope* scope = PyObject_New(Scope, scope_type);
  if (!scope) return nullptr;
  auto* object = reinterpret_cast<PyObject*>(scope);
  scope->name = Py_NewRef(name);
  // Scopes live as long as the process, so that a cycle does no harm.
  scope->enter = PyCFunction_New(&enter_method, object);
  scope->exit = PyCFunction_New(&exit_method, object);
  if (!scope->enter || !scope->exit) return nullptr;
  scope->flavour = flavour;
  scope->stage = scope->kind() == NameKind::kOperation ? stage_of(name) : Stage::kNone;
  scope->id = {0, 0, 0};
  if ((scope->is_joining() || scope->is_guess()) && !take_id_of_operation(scope)) return nullptr;
  return object;
}

PyObject* scope_named(Flavour flavour, PyObject* name) {
  if (PyUnicode_Check(name) && !PyUnicode_CheckExact(name)) {  // a member of an enumeration, say
    PyObject* plain = PyUnicode_FromObject(name);
    PyObject* scope = plain ? scope_named(flavour, plain) : nullptr;
    Py_XDECREF(plain);
    return scope;
  }
  if (!PyUnicode_CheckExact(name) || PyUnicode_GetLength(name) == 0) {
    return PyErr_Format(PyExc_TypeError, "%s() takes a name, a non-empty str; it was given %R",
                        flavour == Flavour::kPhase ? "phase" : "operation", name);
  }
  PyObject* known = scopes_by_name[static_cast<size_t>(flavour)];
  PyObject* found = PyDict_GetItemWithError(known, name);
  if (found) return Py_NewRef(found);
  if (PyErr_Occurred()) return nullptr;
  PyObject* scope = make_scope(flavour, name);
  if (scope && PyDict_SetItem(known, name, scope) != 0) Py_CLEAR(scope);
  return scope;
}

template <Flavour flavour>
PyObject* scope_of(PyObject*, PyObject* name) {
  return scope_named(flavour, name);
}

PyObject* is_open(PyObject*, PyObject* scope) {
  if (is_scope(scope)) return PyBool_FromLong(is_open_guess(scope));
  return PyErr_Format(PyExc_TypeError, "is_open() takes a guessed stage; it was given %R", scope);
}

// A range of another profiler. Its end may come when others are open above it, or when it has been closed with an
// operation around it; so it is found again by how deep it lies, and closes nothing but itself.
PyObject* begin_range(PyObject*, PyObject* object) {
  Scope* scope = as_scope(object);
  if (!is_scope(object)) return PyErr_Format(PyExc_TypeError, "a scope was expected, not %R", object);
  StreamWriter* writer = Session::writer();
  if (!writer) return PyLong_FromLong(0);
  if (scope->id.id == 0 && !intern(scope)) return nullptr;
  if (scope->ends_guess() && writer->is_guessing()) writer->end();
  if ((scope->is_joining() && is_joined(writer, scope)) || !writer->begin(scope->id)) return PyLong_FromLong(0);
  if (scope->stage == Stage::kSimulation) writer->count_simulation();
  note_stage(writer->frame(writer->depth() - 1), scope);
  return PyLong_FromUnsignedLong(writer->depth());
}

PyObject* end_range(PyObject*, PyObject* args) {
  PyObject* object;
  unsigned int depth;
  if (!PyArg_ParseTuple(args, "O!I", scope_type, &object, &depth)) return nullptr;
  StreamWriter* writer = t_writer;
  if (!writer || depth == 0) Py_RETURN_TRUE;
  if (writer->is_guessing() && writer->depth() == depth + 1) writer->end();
  if (writer->depth() < depth || writer->frame(depth - 1).id != as_scope(object)->id.id) Py_RETURN_TRUE;
  if (writer->depth() > depth) Py_RETURN_FALSE;
  writer->end();
  Py_RETURN_TRUE;
}

PyObject* record_sample(PyObject*, PyObject* args) {
  PyObject* name;
  unsigned long long version, tokens;
  int is_discarded;
  if (!PyArg_ParseTuple(args, "UKKp", &name, &version, &tokens, &is_discarded)) return nullptr;
  StreamWriter* writer = Session::writer();
  if (!writer) Py_RETURN_NONE;
  PyObject* object = scope_named(Flavour::kOperation, name);
  if (!object) return nullptr;
  Scope* scope = as_scope(object);
  bool is_known = scope->id.id != 0 || intern(scope);
  if (is_known) sample_is_complete(writer, {scope->id.id, is_discarded ? kSampleDiscarded : 0, version, tokens, 0, 0});
  Py_DECREF(object);
  if (!is_known) return nullptr;
  Py_RETURN_NONE;
}

PyObject* count_misnested(PyObject*, PyObject*) {
  Session::losses().count_misnested_operations(1);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"operation", scope_of<Flavour::kOperation>, METH_O,
     "operation(name)\n--\n\nA part of the algorithm, such as inference: a context manager and a decorator.\n\n"
     "Operations nest; a moment belongs to the innermost one. Does nothing where nothing records."},
    {"phase", scope_of<Flavour::kPhase>, METH_O,
     "phase(name)\n--\n\nA coarse part of the process's life, such as data_collection: a context manager and a "
     "decorator.\n\nAn inner phase suspends the outer one. Does nothing where nothing records."},
    {"joining_stage", scope_of<Flavour::kJoiningStage>, METH_O,
     "joining_stage(name)\n--\n\nAs operation(name), but opens nothing where this stage is the innermost already."},
    {"guessed_stage", scope_of<Flavour::kGuessedStage>, METH_O,
     "guessed_stage(name)\n--\n\nAs operation(name), but opens nothing inside a stage that is certain, and ends where "
     "the next stage begins or the operation around it ends."},
    {"is_open", is_open, METH_O,
     "is_open(guessed)\n--\n\nWhether a guessed stage is the innermost operation of this thread."},
    {"default_operation", scope_of<Flavour::kDefaultOperation>, METH_O,
     "default_operation(name)\n--\n\nAs operation(name), but opens nothing inside any stage."},
    {"callback", scope_of<Flavour::kCallback>, METH_O,
     "callback(name)\n--\n\nPython that native code has called: a crossing back, whose time is Python's."},
    {"simulator_call", scope_of<Flavour::kSimulatorCall>, METH_O,
     "simulator_call(name)\n--\n\nA crossing into a simulator that goes through no function that can be intercepted, as by ctypes."},
    {"wait_call", scope_of<Flavour::kWaitCall>, METH_O,
     "wait_call(name)\n--\n\nA call in which the program waits and that goes through a function in Python."},
    {"enter_for_caller", enter_for_caller, METH_VARARGS,
     "enter_for_caller(scope, depth)\n--\n\nEnter the scope where the function runs that is `depth` calls further out."},
    {"begin_range", begin_range, METH_O,
     "begin_range(scope)\n--\n\nOpen an operation that may end anywhere. Returns how deep it lies, 0 if nothing was opened."},
    {"end_range", end_range, METH_VARARGS,
     "end_range(scope, depth)\n--\n\nClose it if it is innermost. Returns whether it is open no longer."},
    {"record_sample", record_sample, METH_VARARGS,
     "record_sample(name, version, tokens, is_discarded)\n--\n\nRecord that the sample of this task is complete."},
    {"count_misnested", count_misnested, METH_NOARGS,
     "count_misnested()\n--\n\nCount an operation whose end came where it does not belong."},
    {"after_simulations", after_simulations, METH_VARARGS,
     "after_simulations(count, function)\n--\n\nCalls the function once so many simulations have begun; 0 and None "
     "to call nothing."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

__attribute__((hot)) bool enter_scope(PyObject* scope) {
  PyObject* entered = enter_in(scope, nullptr);  // ends before the function that is open returns
  Py_XDECREF(entered);
  return entered != nullptr;
}

__attribute__((hot)) void leave_scope(PyObject* scope) { Py_DECREF(exit_block(scope, nullptr, 0)); }

void reopen_operation(StreamWriter* writer, uint32_t id) {
  if (!writer->begin(encode_id(id))) return;
  Stage stage = Session::stage_of(id);
  StreamWriter::Frame& frame = writer->frame(writer->depth() - 1);
  frame.leaves_stage = stage == kLeavesStage;
  frame.is_stage = stage > Stage::kTrainingLoop && stage != kLeavesStage;
  if (are_tasks_running()) begun_inside_task(writer);
}

void end_reopened(StreamWriter* writer) { end_operation(writer, writer->depth() - 1); }

uint32_t id_of_scope(PyObject* scope) {
  return as_scope(scope)->id.id != 0 || intern(as_scope(scope)) ? as_scope(scope)->id.id : 0;
}

bool is_scope(PyObject* object) { return Py_TYPE(object) == scope_type; }

bool is_open_guess(PyObject* scope) {
  StreamWriter* writer = t_writer;
  return writer && writer->is_guessing() && writer->frame(writer->depth() - 1).id == as_scope(scope)->id.id;
}

bool add_scopes(PyObject* module) {
  scope_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&scope_spec));
  for (PyObject*& scopes : scopes_by_name) {
    scopes = PyDict_New();
    if (!scopes) return false;
  }
  return scope_type && add_bindings() && PyModule_AddType(module, scope_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace rlscope
