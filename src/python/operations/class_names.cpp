// Stands in the place of the getter of `type.__dict__`, so that programs that list, copy or pickle a class see what they
// have put there. To methods, which look into the dictionary itself, all of it is there.
#include "class_names.h"

#include <unordered_map>

namespace rlscope {
namespace {

// Guarded by the GIL.
std::unordered_map<PyTypeObject*, unsigned>* hidden_in = new std::unordered_map<PyTypeObject*, unsigned>;
PyTypeObject* hidden_type;
getter original_getter;
PyTypeObject* names_type;

// What a mapping proxy of the class leads to.
struct Names {
  PyObject_HEAD
  PyObject* all;  // the class's dictionary
};

bool is_hidden(PyObject* value) { return Py_TYPE(value) == hidden_type; }

PyObject* all_of(PyObject* self) { return reinterpret_cast<Names*>(self)->all; }

// A dictionary of what is shown.
PyObject* shown(PyObject* self) {
  PyObject *found = PyDict_New(), *name, *value;
  for (Py_ssize_t at = 0; found && PyDict_Next(all_of(self), &at, &name, &value);) {
    if (!is_hidden(value) && PyDict_SetItem(found, name, value) != 0) Py_CLEAR(found);
  }
  return found;
}

// `of` of what is shown.
template <typename Result, typename Function>
Result with_shown(PyObject* self, Result failed, Function of) {
  PyObject* names = shown(self);
  if (!names) return failed;
  Result result = of(names);
  Py_DECREF(names);
  return result;
}

PyObject* none = nullptr;

PyObject* get_attribute(PyObject* self, PyObject* name) {
  return with_shown(self, none, [=](PyObject* names) { return PyObject_GetAttr(names, name); });
}
PyObject* represent(PyObject* self) { return with_shown(self, none, PyObject_Repr); }
PyObject* iterate(PyObject* self) { return with_shown(self, none, PyObject_GetIter); }
Py_ssize_t length(PyObject* self) { return with_shown(self, Py_ssize_t{-1}, PyDict_Size); }
PyObject* compare(PyObject* self, PyObject* other, int operation) {
  return with_shown(self, none, [=](PyObject* names) { return PyObject_RichCompare(names, other, operation); });
}

int contains(PyObject* self, PyObject* name) {
  PyObject* found = PyDict_GetItemWithError(all_of(self), name);
  return found ? !is_hidden(found) : PyErr_Occurred() ? -1 : 0;
}

PyObject* get_item(PyObject* self, PyObject* name) {
  PyObject* found = PyDict_GetItemWithError(all_of(self), name);
  if (found && !is_hidden(found)) return Py_NewRef(found);
  if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
  return nullptr;
}

// Either side may be a class's names.
PyObject* unite(PyObject* left, PyObject* right) {
  if (Py_TYPE(left) == names_type) {
    return with_shown(left, none, [=](PyObject* names) { return PyNumber_Or(names, right); });
  }
  return with_shown(right, none, [=](PyObject* names) { return PyNumber_Or(left, names); });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(all_of(self));
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Names*>(self)->all);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
    {Py_sq_contains, reinterpret_cast<void*>(contains)},
    {Py_nb_or, reinterpret_cast<void*>(unite)},
    {0, nullptr},
};
PyType_Spec spec = {"rlscope._native.Names", sizeof(Names), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject* get_names(PyObject* type, void* closure) {
  if (hidden_in->count(reinterpret_cast<PyTypeObject*>(type)) == 0) return original_getter(type, closure);
  PyObject* names = names_type->tp_alloc(names_type, 0);
  if (!names) return nullptr;
  reinterpret_cast<Names*>(names)->all = dict_of(reinterpret_cast<PyTypeObject*>(type));
  PyObject* proxy = PyDictProxy_New(names);
  Py_DECREF(names);
  return proxy;
}

// That of `type.__dict__`; null without an exception where the interpreter has another way.
PyGetSetDef* definition() {
  PyObject* of_type = dict_of(&PyType_Type);
  PyObject* found = PyDict_GetItemString(of_type, "__dict__");
  Py_DECREF(of_type);  // which `type` has too
  bool is_getter = found && Py_TYPE(found) == &PyGetSetDescr_Type;
  return is_getter ? reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset : nullptr;
}

PyObject* names_of(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a class was expected, not %R", type);
  PyObject* names = dict_of(reinterpret_cast<PyTypeObject*>(type));
  PyObject* proxy = PyDictProxy_New(names);
  Py_DECREF(names);
  return proxy;
}

PyMethodDef functions[] = {
    {"names_of", names_of, METH_O, "names_of(cls)\n--\n\nAll that a class has by name, also what its `__dict__` does not show."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* dict_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  return Py_NewRef(type->tp_dict);
#else
  return PyType_GetDict(type);
#endif
}

void hide_names(PyTypeObject* owner, PyTypeObject* of_values) {
  hidden_type = of_values;
  (*hidden_in)[owner]++;
  PyGetSetDef* of_type = definition();
  if (of_type && of_type->get != get_names) {
    original_getter = of_type->get;
    of_type->get = get_names;
  }
}

void show_names(PyTypeObject* owner) {
  auto hidden = hidden_in->find(owner);
  if (hidden == hidden_in->end() || --hidden->second > 0) return;
  hidden_in->erase(hidden);
  PyGetSetDef* of_type = hidden_in->empty() ? definition() : nullptr;
  if (of_type && of_type->get == get_names) of_type->get = original_getter;
}

bool add_class_names(PyObject* module) {
  names_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return names_type && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace rlscope
