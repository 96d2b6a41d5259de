// A built-in function's hash and equality are made of its function pointer: without a correction it could not be found
// in a dictionary that was filled before the pointer was swapped (PyTorch's graphs are such dictionaries).
#include "builtin_identity.h"

#include <Python.h>

#include <cstdint>

#include "pointer_swaps.h"

namespace rlscope {
namespace {

struct BuiltinType {
  PyTypeObject* type;
  hashfunc hash;
  richcmpfunc compare;
};
BuiltinType builtin_types[] = {{&PyCFunction_Type, nullptr, nullptr}, {&PyCMethod_Type, nullptr, nullptr}};

void* entry_of(PyObject* function) {
  return reinterpret_cast<void*>(reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_meth);
}

uint64_t hash_pointer(void* pointer) {
  auto value = reinterpret_cast<uint64_t>(pointer);
  return value >> 4 | value << 60;
}

// CPython combines the hashes of the pointer and of the object by exclusive or, so one can be exchanged for another.
Py_hash_t hash_of_builtin(PyObject* function) {
  void* entry = entry_of(function);
  void* original = original_of(entry);
  const BuiltinType& builtin = builtin_types[Py_TYPE(function) == builtin_types[0].type ? 0 : 1];
  Py_hash_t hash = builtin.hash(function);
  if (original == entry || hash == -1) return hash;
  hash ^= static_cast<Py_hash_t>(hash_pointer(entry) ^ hash_pointer(original));
  return hash == -1 ? -2 : hash;
}

PyObject* compare_builtins(PyObject* left, PyObject* right, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !PyCFunction_Check(left) || !PyCFunction_Check(right)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  bool is_equal = PyCFunction_GET_SELF(left) == PyCFunction_GET_SELF(right) &&
                  original_of(entry_of(left)) == original_of(entry_of(right));
  return PyBool_FromLong(is_equal == (operation == Py_EQ));
}

}  // namespace

void keep_identity_of_builtins() {
  for (BuiltinType& builtin : builtin_types) {
    if (builtin.type->tp_hash == hash_of_builtin) continue;
    builtin.hash = builtin.type->tp_hash;
    builtin.compare = builtin.type->tp_richcompare;
    builtin.type->tp_hash = hash_of_builtin;
    builtin.type->tp_richcompare = compare_builtins;
  }
}

void restore_identity_of_builtins() {
  for (BuiltinType& builtin : builtin_types) {
    if (builtin.type->tp_hash != hash_of_builtin) continue;
    builtin.type->tp_hash = builtin.hash;
    builtin.type->tp_richcompare = builtin.compare;
  }
}

}  // namespace rlscope
