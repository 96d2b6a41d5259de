// Objects of C++ in the place of Python functions: they leave no frame, so that tracebacks, `inspect.stack()` and the
// `stacklevel` of warnings are those of the program alone, and all attributes are the function's, its class too.
#include "hooked.h"

#include <structmember.h>

#include <cstddef>

#include "class_names.h"
#include "method_definitions.h"
#include "scope.h"

namespace rlscope {
namespace {

struct Hooked {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* function;
  PyObject* scopes;   // a tuple, outermost first
  PyObject* before;   // these three are null where nobody is told of calls
  PyObject* after;
  PyObject* running;  // a set of the ids of instances that are in such a call
};

PyTypeObject* hooked_type;

Hooked* as_hooked(PyObject* object) { return reinterpret_cast<Hooked*>(object); }

// All that follows is without destructors, as every trampoline: see interception.cpp.
__attribute__((hot)) PyObject* call_in_scopes(Hooked* hooked, PyObject* const* arguments, size_t count, PyObject* names) {
  PyObject* scopes = hooked->scopes;
  Py_ssize_t all = PyTuple_GET_SIZE(scopes), entered = 0;
  while (entered < all && enter_scope(PyTuple_GET_ITEM(scopes, entered))) entered++;
  PyObject* result = entered == all ? PyObject_Vectorcall(hooked->function, arguments, count, names) : nullptr;
  while (entered > 0) leave_scope(PyTuple_GET_ITEM(scopes, --entered));
  return result;
}

// What an integration does wrong must not end the program. False where it is to end all the same, as by Ctrl-C.
bool notify(PyObject* notice, PyObject* instance) {
  if (notice == Py_None) return true;
  PyObject* result = PyObject_CallOneArg(notice, instance);
  Py_XDECREF(result);
  if (result) return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_WriteUnraisable(notice);
  return true;
}

PyObject* call_outermost(Hooked* hooked, PyObject* const* arguments, size_t count, PyObject* names) {
  if (!notify(hooked->before, arguments[0])) return nullptr;
  PyObject* result = call_in_scopes(hooked, arguments, count, names);
  if (result && !notify(hooked->after, arguments[0])) Py_CLEAR(result);
  return result;
}

__attribute__((hot)) PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
  Hooked* hooked = as_hooked(self);
  if (!hooked->running || PyVectorcall_NARGS(count) == 0) return call_in_scopes(hooked, arguments, count, names);
  PyObject* instance = PyLong_FromVoidPtr(arguments[0]);
  int is_inside = instance ? PySet_Contains(hooked->running, instance) : -1;
  PyObject* result = nullptr;
  if (is_inside == 1) {
    result = call_in_scopes(hooked, arguments, count, names);
  } else if (is_inside == 0 && PySet_Add(hooked->running, instance) == 0) {
    result = call_outermost(hooked, arguments, count, names);
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    if (PySet_Discard(hooked->running, instance) < 0) PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
  }
  Py_XDECREF(instance);
  return result;
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

// Pickled as a function is: by its name. The function's own method would not do, for it is not what has that name.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(as_hooked(self)->function, "__qualname__"); }

// What would else lead to the function itself, past the scopes.
constexpr const char* kOwn[] = {"__reduce_ex__", "__reduce__", "__get__", "__call__"};

PyObject* get_attribute(PyObject* self, PyObject* name) {
  for (const char* own : kOwn) {
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, own) == 0) return PyObject_GenericGetAttr(self, name);
  }
  return PyObject_GetAttr(as_hooked(self)->function, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(as_hooked(self)->function, name, value);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(as_hooked(self)->function); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Hooked* hooked = as_hooked(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(hooked->function);
  Py_VISIT(hooked->before);
  Py_VISIT(hooked->after);
  return 0;
}

int clear(PyObject* self) {
  Hooked* hooked = as_hooked(self);
  Py_CLEAR(hooked->function);
  Py_CLEAR(hooked->before);
  Py_CLEAR(hooked->after);
  return 0;
}

void deallocate(PyObject* self) {
  Hooked* hooked = as_hooked(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (hooked->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  Py_CLEAR(hooked->scopes);
  Py_CLEAR(hooked->running);
  type->tp_free(self);
  Py_DECREF(type);
}

// Hooked(function, scopes, before, after, running): runs the function inside scopes, the first one outermost. `before`
// and `after` are called with its first argument, unless `running` holds its id: then it is in such a call already.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *scopes, *before = nullptr, *after = nullptr, *running = nullptr;
  if (!PyArg_ParseTuple(args, "OO!|OOO!", &function, &PyTuple_Type, &scopes, &before, &after, &PySet_Type, &running)) {
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(scopes); i++) {
    if (!is_scope(PyTuple_GET_ITEM(scopes, i))) return PyErr_Format(PyExc_TypeError, "scopes were expected, not %R", scopes);
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  Hooked* hooked = as_hooked(self);
  hooked->vectorcall = call;
  hooked->function = Py_NewRef(function);
  hooked->scopes = Py_NewRef(scopes);
  if (running) {
    hooked->before = Py_NewRef(before);
    hooked->after = Py_NewRef(after);
    hooked->running = Py_NewRef(running);
  }
  return self;
}

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__reduce_ex__", reduce, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Hooked, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Hooked, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyObject* documentation(PyObject* self, void*) { return PyObject_GetAttrString(as_hooked(self)->function, "__doc__"); }

PyGetSetDef attributes[] = {
    {"__doc__", documentation, nullptr, nullptr, nullptr},  // pydoc asks object.__getattribute__ for it
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, nullptr},
};
PyType_Spec spec = {"rlscope._native.Hooked", sizeof(Hooked), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

// In a class that inherits a method from one that is not hooked; the class's `__dict__` does not show it. Which one that
// is, is found out at each access: it depends on the class of the instance, and somebody may replace it.
struct Inherited {
  PyObject_HEAD
  PyObject* owner;     // the class in which this stands
  PyObject* name;
  PyObject* wrap;      // makes what is called in the place of the method
  PyObject* method;    // that was found last, and what was made of it
  PyObject* replacement;
  unsigned int version;  // of the type for which it was found; 0 if nobody counts that type's versions
};

PyTypeObject* inherited_type;

Inherited* as_inherited(PyObject* object) { return reinterpret_cast<Inherited*>(object); }

// A borrowed reference to what the classes behind the owner have under the name; null without an exception if nothing.
PyObject* next_in_order(Inherited* inherited, PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  bool is_behind = false;
  for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); i++) {
    PyObject* base = PyTuple_GET_ITEM(order, i);
    if (is_behind) {
      PyObject* names = dict_of(reinterpret_cast<PyTypeObject*>(base));
      PyObject* found = PyDict_GetItemWithError(names, inherited->name);
      Py_DECREF(names);  // the class has it too
      if (found || PyErr_Occurred()) return found;
    }
    is_behind |= base == inherited->owner;
  }
  return nullptr;
}

PyObject* get_bound(PyObject* found, PyObject* object, PyObject* type) {
  descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  return get ? get(found, object, type) : Py_NewRef(found);
}

// No two types ever have the same one, and a type gets another one when it or one of its bases changes; 0 if it has none.
unsigned int version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030B0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

PyObject* bind_replacement(Inherited* inherited, PyObject* object, PyObject* type) {
  PyObject* replacement = Py_NewRef(inherited->replacement);
  PyObject* bound = get_bound(replacement, object, type);
  Py_DECREF(replacement);
  return bound;
}

PyObject* bind_inherited(PyObject* self, PyObject* object, PyObject* type) {
  Inherited* inherited = as_inherited(self);
  bool is_of_instance = object && object != Py_None;
  unsigned int version = is_of_instance ? version_of(Py_TYPE(object)) : 0;
  if (version != 0 && version == inherited->version) return bind_replacement(inherited, object, type);
  PyObject* of = is_of_instance ? reinterpret_cast<PyObject*>(Py_TYPE(object)) : type;
  PyObject* found = of && PyType_Check(of) ? next_in_order(inherited, reinterpret_cast<PyTypeObject*>(of)) : nullptr;
  if (!found) {
    if (!PyErr_Occurred()) PyErr_SetObject(PyExc_AttributeError, inherited->name);
    return nullptr;
  }
  if (of == type && object == nullptr) return get_bound(found, nullptr, type);
  if (found != inherited->method) {
    Py_INCREF(found);
    PyObject* replacement = PyObject_CallOneArg(inherited->wrap, found);
    if (!replacement) {
      Py_DECREF(found);
      return nullptr;
    }
    Py_XSETREF(inherited->method, found);
    Py_XSETREF(inherited->replacement, replacement);
  }
  inherited->version = version;
  return bind_replacement(inherited, object, type);
}

PyObject* is_abstract(PyObject* self, void*) {
  Inherited* inherited = as_inherited(self);
  PyObject* found = next_in_order(inherited, reinterpret_cast<PyTypeObject*>(inherited->owner));
  if (found) return PyObject_GetAttrString(found, "__isabstractmethod__");
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "__isabstractmethod__");
  return nullptr;
}

int traverse_inherited(PyObject* self, visitproc visit, void* arg) {
  Inherited* inherited = as_inherited(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(inherited->owner);
  Py_VISIT(inherited->wrap);
  Py_VISIT(inherited->method);
  Py_VISIT(inherited->replacement);
  return 0;
}

int clear_inherited(PyObject* self) {
  Inherited* inherited = as_inherited(self);
  inherited->version = 0;
  if (inherited->owner) show_names(reinterpret_cast<PyTypeObject*>(inherited->owner));
  Py_CLEAR(inherited->owner);
  Py_CLEAR(inherited->wrap);
  Py_CLEAR(inherited->method);
  Py_CLEAR(inherited->replacement);
  return 0;
}

void deallocate_inherited(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_inherited(self);
  Py_CLEAR(as_inherited(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* make_inherited(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *owner, *name, *wrap;
  if (!PyArg_ParseTuple(args, "O!UO", &PyType_Type, &owner, &name, &wrap)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  Inherited* inherited = as_inherited(self);
  inherited->owner = Py_NewRef(owner);
  inherited->name = Py_NewRef(name);
  inherited->wrap = Py_NewRef(wrap);
  hide_names(reinterpret_cast<PyTypeObject*>(owner), inherited_type);
  return self;
}

PyGetSetDef inherited_attributes[] = {
    {"__isabstractmethod__", is_abstract, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot inherited_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_inherited)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate_inherited)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_inherited)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_inherited)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_inherited)},
    {Py_tp_getset, inherited_attributes},
    {Py_tp_doc, const_cast<char*>("Inherited(owner, name, wrap)\n--\n\nThe method `name` that the class `owner` inherits, of which "
                                  "instances get wrap(method).")},
    {0, nullptr},
};
PyType_Spec inherited_spec = {"rlscope._native.Inherited", sizeof(Inherited), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                              inherited_slots};

// Classes are watched where each of them ends up when it is made: in object.__init_subclass__. So no class has a method
// of ours. One whose own __init_subclass__ does not call its base's is not seen.
PyObject* subclass_watcher;
PyObject* watched_owners;  // a dictionary
PyCFunction original_init_subclass;

int is_watched(PyTypeObject* made) {
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(made->tp_mro); i++) {
    int is_owner = PyDict_Contains(watched_owners, PyTuple_GET_ITEM(made->tp_mro, i));
    if (is_owner != 0) return is_owner;
  }
  return 0;
}

PyObject* init_subclass(PyObject* made, PyObject* nothing) {
  PyObject* result = original_init_subclass(made, nothing);
  if (!result || !subclass_watcher || !PyType_Check(made)) return result;
  if (is_watched(reinterpret_cast<PyTypeObject*>(made)) == 1) {
    PyObject* watcher = Py_NewRef(subclass_watcher);
    PyObject* seen = PyObject_CallOneArg(watcher, made);
    if (!seen) PyErr_WriteUnraisable(watcher);  // the program's class is made all the same
    Py_XDECREF(seen);
    Py_DECREF(watcher);
  }
  PyErr_Clear();
  return result;
}

PyObject* watch_subclasses(PyObject*, PyObject* args) {
  PyObject *owners, *watcher;
  if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &owners, &watcher)) return nullptr;
  PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__init_subclass__");
  if (!method) return nullptr;
  PyMethodDef* def = method_def_of(method);  // which is not the method's own, but object's
  Py_DECREF(method);
  if (!def) return PyErr_Format(PyExc_RuntimeError, "object.__init_subclass__ is no method of the interpreter's");
  bool is_wanted = watcher != Py_None;
  if (is_wanted && def->ml_meth != init_subclass) {
    original_init_subclass = def->ml_meth;
    def->ml_meth = init_subclass;
  }
  if (!is_wanted && def->ml_meth == init_subclass) def->ml_meth = original_init_subclass;
  Py_XSETREF(watched_owners, Py_NewRef(owners));
  Py_XSETREF(subclass_watcher, is_wanted ? Py_NewRef(watcher) : nullptr);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"watch_subclasses", watch_subclasses, METH_VARARGS,
     "watch_subclasses(owners, callback)\n--\n\nCall `callback(cls)` with each class that is made below a key of the "
     "dictionary `owners`, which may grow; None ends it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* call_hooked(PyObject* hooked, PyObject* const* arguments, size_t count, PyObject* names) {
  return call(hooked, arguments, count, names);
}

PyObject* function_of(PyObject* hooked) { return as_hooked(hooked)->function; }

void set_entry(PyObject* hooked, vectorcallfunc entry) { as_hooked(hooked)->vectorcall = entry; }

bool add_hooked(PyObject* module) {
  hooked_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  inherited_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&inherited_spec));
  return hooked_type && inherited_type && PyModule_AddType(module, hooked_type) == 0 &&
         PyModule_AddType(module, inherited_type) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace rlscope
