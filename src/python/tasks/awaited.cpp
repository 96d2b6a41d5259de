// Reads fields of semaphores where their type says that they are, and looks for threads in the dict that `threading` has.
#include "awaited.h"

#include <structmember.h>

namespace rlscope {
namespace {

Py_ssize_t offset_of(PyTypeObject* type, const char* field) {
  PyObject* descriptor = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), field);
  Py_ssize_t offset = 0;
  if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
    offset = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->offset;
  }
  Py_XDECREF(descriptor);
  PyErr_Clear();
  return offset;
}

template <typename Field>
Field field_of(PyObject* semaphore, Py_ssize_t offset, Field otherwise) {
  return offset ? *reinterpret_cast<Field*>(reinterpret_cast<char*>(semaphore) + offset) : otherwise;
}

}  // namespace

uint64_t object_of_semaphore(PyObject* semaphore) {
  static const Py_ssize_t offset = offset_of(Py_TYPE(semaphore), "name");
  static const Py_ssize_t handle_offset = offset_of(Py_TYPE(semaphore), "handle");
  const char* name = field_of<const char*>(semaphore, offset, nullptr);
  // One that children get by being forked off has no name, and is at the same address in each.
  if (!name) return reinterpret_cast<uintptr_t>(field_of<void*>(semaphore, handle_offset, nullptr));
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (; *name; name++) hash = (hash ^ static_cast<uint8_t>(*name)) * 1099511628211u;
  return hash;
}

bool is_mutex(PyObject* semaphore) {
  static const Py_ssize_t offset = offset_of(Py_TYPE(semaphore), "maxvalue");
  return field_of<int>(semaphore, offset, 0) == 1;
}

uint64_t thread_with(const char* attribute, PyObject* value) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* threading = modules ? PyDict_GetItemString(modules, "threading") : nullptr;
  PyObject* active = threading ? PyObject_GetAttrString(threading, "_active") : nullptr;
  uint64_t found = 0;
  PyObject *key, *thread;
  for (Py_ssize_t at = 0; active && PyDict_Check(active) && !found && PyDict_Next(active, &at, &key, &thread);) {
    PyObject* had = PyObject_GetAttrString(thread, attribute);
    PyObject* number = had == value ? PyObject_GetAttrString(thread, "_native_id") : nullptr;
    if (number && PyLong_Check(number)) found = PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    Py_XDECREF(had);
    PyErr_Clear();
  }
  Py_XDECREF(active);
  PyErr_Clear();
  return found;
}

}  // namespace rlscope
