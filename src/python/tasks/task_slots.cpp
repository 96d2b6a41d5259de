// How tasks are followed up to Python 3.11, which has no events for it: by the slots and methods of the five types through
// which every step of a coroutine or generator goes, whoever drives it.
#include "tasks.h"

#if PY_VERSION_HEX < 0x030C0000
namespace rlscope {
namespace {

enum Type { kGenerator, kCoroutine, kCoroutineIterator, kAsyncSend, kAsyncThrow, kTypes };
enum Method { kSend, kThrow, kClose, kMethods };
constexpr const char* kMethodNames[kMethods] = {"send", "throw", "close"};

// What a type had before.
struct Followed {
  PyTypeObject* type;
  iternextfunc next;
  sendfunc send;
  destructor finalize;
  PyCFunction methods[kMethods];
};
Followed types[kTypes];
bool is_started;

// The types whose objects stand for a coroutine or asynchronous generator begin with a reference to it.
struct StandIn {
  PyObject_HEAD
  PyObject* task;
};

template <int type>
PyObject* task_of(PyObject* self) {
  return type == kGenerator || type == kCoroutine ? self : reinterpret_cast<StandIn*>(self)->task;
}

// Around one step of a task, without destructors, as every trampoline: see interception.cpp.
void before_step(PyObject* task) {
  if (!task || !(are_tasks_suspended() || are_tasks_running())) return;
  if (has_not_started(task)) {
    task_starts(task);
  } else {
    task_resumes(task);
  }
}

void after_step(PyObject* task) {
  if (are_tasks_running() && task && is_suspended(task)) task_suspends(task);
}

// What a suspended task awaits, if that is a coroutine or generator: a new reference. An exception stays as it is.
PyObject* awaited_by(PyObject* task) {
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  const char* name = PyGen_CheckExact(task) ? "gi_yieldfrom" : PyCoro_CheckExact(task) ? "cr_await" : "ag_await";
  PyObject* awaited = PyObject_GetAttrString(task, name);
  PyErr_Restore(kind, value, traceback);
  if (awaited && (PyGen_CheckExact(awaited) || PyCoro_CheckExact(awaited))) return awaited;
  Py_XDECREF(awaited);
  return nullptr;
}

// An exception goes to the innermost task first, past the slots: all that await it are resumed with it. Returns them, the
// outermost first, or null.
PyObject* before_throw(PyObject* task) {
  if (!are_tasks_suspended() || !task) return nullptr;
  PyObject* tasks = PyList_New(0);
  Py_INCREF(task);
  while (task) {
    if (!tasks || PyList_Append(tasks, task) != 0) PyErr_Clear();  // without memory it stays suspended
    task_resumes(task);
    PyObject* next = awaited_by(task);
    Py_DECREF(task);
    task = next;
  }
  return tasks;
}

void after_throw(PyObject* task, PyObject* tasks) {
  if (!tasks) after_step(task);
  for (Py_ssize_t i = tasks ? PyList_GET_SIZE(tasks) : 0; i > 0; i--) after_step(PyList_GET_ITEM(tasks, i - 1));
  Py_XDECREF(tasks);
}

template <int type>
PyObject* next(PyObject* self) {
  PyObject* task = task_of<type>(self);
  before_step(task);
  PyObject* result = types[type].next(self);
  after_step(task);
  return result;
}

template <int type>
PySendResult send_slot(PyObject* self, PyObject* value, PyObject** result) {
  PyObject* task = task_of<type>(self);
  before_step(task);
  PySendResult status = types[type].send(self, value, result);
  after_step(task);
  return status;
}

template <int type>
PyObject* send(PyObject* self, PyObject* value) {
  PyObject* task = task_of<type>(self);
  before_step(task);
  PyObject* result = types[type].methods[kSend](self, value);
  after_step(task);
  return result;
}

template <int type, int method, class... Arguments>
PyObject* throw_or_close(PyObject* self, Arguments... arguments) {
  auto original = reinterpret_cast<PyObject* (*)(PyObject*, Arguments...)>(
      reinterpret_cast<void (*)()>(types[type].methods[method]));
  PyObject* task = task_of<type>(self);
  PyObject* tasks = before_throw(task);
  PyObject* result = original(self, arguments...);
  after_throw(task, tasks);
  return result;
}

// As Python calls the method: 3.11 gives arguments of `throw` one by one, 3.10 as a tuple.
template <int type, int method>
PyCFunction throw_or_close_for(const PyMethodDef* original) {
  if (!original || !(original->ml_flags & METH_FASTCALL)) return throw_or_close<type, method, PyObject*>;
  auto function = throw_or_close<type, method, PyObject* const*, Py_ssize_t>;
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// One that is nobody's any more is closed.
template <int type>
void finalize(PyObject* self) {
  PyObject* tasks = before_throw(self);
  types[type].finalize(self);
  after_throw(self, tasks);
}

// The method of that name, null if the type has none.
PyMethodDef* method_of(PyTypeObject* type, const char* name) {
  PyObject* descriptor = PyDict_GetItemString(type->tp_dict, name);
  return descriptor && Py_IS_TYPE(descriptor, &PyMethodDescr_Type)
             ? reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method
             : nullptr;
}

void set_next(PyTypeObject* type, iternextfunc function) {
  type->tp_iternext = function;
  PyObject* descriptor = PyDict_GetItemString(type->tp_dict, "__next__");  // calls what the slot held
  if (descriptor && Py_IS_TYPE(descriptor, &PyWrapperDescr_Type)) {
    reinterpret_cast<PyWrapperDescrObject*>(descriptor)->d_wrapped = reinterpret_cast<void*>(function);
  }
}

template <int type>
void replace(PyTypeObject* object) {
  Followed& saved = types[type];
  saved.type = object;
  saved.next = object->tp_iternext;
  if (saved.next) set_next(object, next<type>);
  saved.send = object->tp_as_async ? object->tp_as_async->am_send : nullptr;
  if (saved.send) object->tp_as_async->am_send = send_slot<type>;
  saved.finalize = type == kGenerator || type == kCoroutine ? object->tp_finalize : nullptr;
  if (saved.finalize) object->tp_finalize = finalize<type>;
  PyMethodDef* methods[kMethods];
  for (int i = 0; i < kMethods; i++) methods[i] = method_of(object, kMethodNames[i]);
  PyCFunction ours[kMethods] = {send<type>, throw_or_close_for<type, kThrow>(methods[kThrow]),
                                throw_or_close_for<type, kClose>(methods[kClose])};
  for (int i = 0; i < kMethods; i++) {
    PyMethodDef* method = methods[i];
    saved.methods[i] = method ? method->ml_meth : nullptr;
    if (method) method->ml_meth = ours[i];
  }
}

void put_back(const Followed& saved) {
  PyTypeObject* type = saved.type;
  if (saved.next) set_next(type, saved.next);
  if (saved.send) type->tp_as_async->am_send = saved.send;
  if (saved.finalize) type->tp_finalize = saved.finalize;
  for (int i = 0; i < kMethods; i++) {
    if (saved.methods[i]) method_of(type, kMethodNames[i])->ml_meth = saved.methods[i];
  }
}

}  // namespace

// Three of the types have no name in Python: rlscope.record.task_types has an object of each.
bool start_task_events() {
  if (is_started) return true;
  PyObject* module = PyImport_ImportModule("rlscope.record.task_types");
  PyObject* found = module ? PyObject_CallMethod(module, "unnamed_types", nullptr) : nullptr;
  Py_XDECREF(module);
  PyTypeObject *iterator, *sends, *throws;
  bool is_ready = found && PyArg_ParseTuple(found, "O!O!O!", &PyType_Type, &iterator, &PyType_Type, &sends,
                                            &PyType_Type, &throws);
  if (is_ready) {
    replace<kGenerator>(&PyGen_Type);
    replace<kCoroutine>(&PyCoro_Type);
    replace<kCoroutineIterator>(iterator);
    replace<kAsyncSend>(sends);
    replace<kAsyncThrow>(throws);
    is_started = true;
  }
  Py_XDECREF(found);
  return is_ready;
}

bool follow_task_events(PythonFrame*) { return is_started; }

void stop_task_events() {
  if (!is_started) return;
  for (const Followed& saved : types) put_back(saved);
  is_started = false;
}

}  // namespace rlscope
#endif
