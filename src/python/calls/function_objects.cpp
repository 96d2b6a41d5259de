// The slots of their type are exchanged, not something of each object: they come and go, and a program may make any number.
// Types that are derived later get what the type's method for the slot holds, so that is exchanged as well.
#include "function_objects.h"

#include <dlfcn.h>

#include <string_view>
#include <unordered_map>

#include "arguments.h"
#include "name_facts.h"
#include "session.h"

namespace rlscope {
namespace {

// What of an object tells which function it stands for.
enum class Told : uint8_t {
  kPointer,  // the object begins with a pointer to memory that holds the address of the code, as those of ctypes
  kAddress,  // it begins with a type, and the address of the code, as those of cffi
  kPython,   // it has the Python function of which the code was made, as those of numba
};

struct Slots {
  ternaryfunc call;
  newfunc make;
};

struct FunctionType {
  PyTypeObject* type = nullptr;  // and those that are derived from it; null: nothing is intercepted
  Told told = Told::kPointer;
  PyWrapperDescrObject* method = nullptr;  // its `__call__`; null if it has none
  Slots original = {};
  PyObject* attribute = nullptr;  // that has the Python function
  PyObject* as_callback = nullptr;  // what is put around a function of the program that an object is made of
  PyObject* name_of = nullptr;
  Category category = Category::kPython;
  // By address of the code; that of Python is kept, so that nothing else comes to lie there.
  std::unordered_map<const void*, CodedId> functions;
};
constexpr size_t kMostTypes = 4;
FunctionType* function_types() {
  static auto* types = new FunctionType[kMostTypes];
  return types;
}

// As their libraries have them since Python 2.
struct PointerObject {
  PyObject_HEAD
  void** memory;
};
struct AddressObject {
  PyObject_HEAD
  PyObject* type;
  const void* address;
};

// New references, or null.
PyObject* python_function_of(const FunctionType& type, PyObject* object) {
  PyObject* function = PyObject_GetAttr(object, type.attribute);
  if (function && !PyFunction_Check(function)) Py_CLEAR(function);
  PyErr_Clear();
  return function;
}

// None of code in no library; "" of Python itself, whose functions are no native code.
PyObject* library_of(const Dl_info& found) {
  static const void* python = [] {
    Dl_info own;
    return dladdr(reinterpret_cast<const void*>(PyObject_Call), &own) ? own.dli_fbase : nullptr;
  }();
  if (!found.dli_fname) return Py_NewRef(Py_None);
  return PyUnicode_DecodeFSDefault(found.dli_fbase == python ? "" : found.dli_fname);
}

PyObject* ask_for_name(const FunctionType& type, PyObject* object, const void* code) {
  Dl_info found;
  if (type.told == Told::kPython || !dladdr(code, &found)) found = {};
  PyObject* function = type.told == Told::kPython ? python_function_of(type, object) : Py_NewRef(object);
  PyObject* library = library_of(found);
  PyObject* name = function && library ? PyObject_CallFunction(type.name_of, "OOz", function, library, found.dli_sname) : nullptr;
  Py_XDECREF(library);
  Py_XDECREF(function);
  return name;
}

// At the first call. What has an empty name is not recorded.
__attribute__((noinline, cold)) CodedId meet(FunctionType& type, PyObject* object, const void* code) {
  PyObject* name = ask_for_name(type, object, code);
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (PyErr_Occurred()) PyErr_WriteUnraisable(type.name_of);
  bool is_recorded = text && *text;
  CodedId id = is_recorded ? Session::intern(NameKind::kBoundary, type.category, text) : CodedId{0, 0, 0};
  Py_XDECREF(name);
  if (type.told == Told::kPython && code) Py_INCREF(reinterpret_cast<PyObject*>(const_cast<void*>(code)));
  type.functions[code] = id;
  return id;
}

CodedId id_of(FunctionType& type, PyObject* object) {
  const void* code = nullptr;
  if (type.told == Told::kPointer) {
    void** memory = reinterpret_cast<PointerObject*>(object)->memory;
    code = memory ? *memory : nullptr;
  } else if (type.told == Told::kAddress) {
    code = reinterpret_cast<AddressObject*>(object)->address;
  } else {
    PyObject* function = python_function_of(type, object);
    code = function ? PyFunction_GET_CODE(function) : nullptr;
    Py_XDECREF(function);  // the object has it as well
  }
  auto known = type.functions.find(code);
  return known != type.functions.end() ? known->second : meet(type, object, code);
}

// A call of a library that is known may be made through such an object: it stays what it is.
bool is_in_library(StreamWriter* writer) {
  for (uint32_t depth = writer->depth(); depth > 0; depth--) {
    NameFacts facts = name_facts(writer->frame(depth - 1).id);
    if (facts.is_boundary) return facts.is_of_library;
  }
  return false;
}

// Without destructors, as every trampoline: see trampolines.cpp.
template <size_t index>
PyObject* call(PyObject* object, PyObject* arguments, PyObject* keywords) {
  FunctionType& type = function_types()[index];
  ternaryfunc original = type.original.call;
  StreamWriter* writer = Session::recording_writer();
  if (!writer) return original(object, arguments, keywords);
  uint32_t depth = writer->depth();
  if (is_in_library(writer)) return original(object, arguments, keywords);
  CodedId id = id_of(type, object);
  if (id.id == 0 || !writer->begin(id)) return original(object, arguments, keywords);
  PyObject* result = original(object, arguments, keywords);
  if (t_writer == writer) writer->end_to(depth);
  return result;
}

// An object that is made of a function of the program is for native code, which calls it back.
template <size_t index>
PyObject* make(PyTypeObject* made, PyObject* arguments, PyObject* keywords) {
  const FunctionType& type = function_types()[index];
  PyObject* given = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
  if (!given || !PyCallable_Check(given)) return type.original.make(made, arguments, keywords);
  PyObject* callback = PyObject_CallOneArg(type.as_callback, given);
  PyObject* marked = callback ? PyTuple_Pack(1, callback) : nullptr;
  PyObject* result = marked ? type.original.make(made, marked, keywords) : nullptr;
  Py_XDECREF(marked);
  Py_XDECREF(callback);
  return result;
}
constexpr Slots kSlots[kMostTypes] = {
    {call<0>, make<0>}, {call<1>, make<1>}, {call<2>, make<2>}, {call<3>, make<3>}};

// In a type and all that are derived from it, but for those that have put something else there.
bool exchange(PyTypeObject* type, const Slots& from, const Slots& to) {
  if (type->tp_call == from.call) __atomic_store_n(&type->tp_call, to.call, __ATOMIC_RELEASE);
  if (from.make && type->tp_new == from.make) __atomic_store_n(&type->tp_new, to.make, __ATOMIC_RELEASE);
  PyObject* derived = PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O", type);
  if (!derived) return false;
  bool is_done = true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(derived); i++) {
    is_done = exchange(reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(derived, i)), from, to) && is_done;
  }
  Py_DECREF(derived);
  return is_done;
}

bool exchange_all(const FunctionType& type, const Slots& from, const Slots& to) {
  auto* in_method = reinterpret_cast<void*>(from.call);
  if (type.method && type.method->d_wrapped == in_method) type.method->d_wrapped = reinterpret_cast<void*>(to.call);
  return exchange(type.type, from, to);
}

PyObject* intercept_function_objects(PyObject*, PyObject* args) {
  PyObject *object, *name_of, *as_callback;
  const char* text;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&OO", &PyType_Type, &object, &text, parse_category, &category, &name_of, &as_callback)) {
    return nullptr;
  }
  std::string_view told = text;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (!type->tp_call || PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL)) Py_RETURN_FALSE;
  size_t index = 0;
  while (index < kMostTypes && function_types()[index].type && function_types()[index].type != type) index++;
  if (index == kMostTypes) return PyErr_Format(PyExc_RuntimeError, "%zu types of function objects are known", kMostTypes);
  FunctionType& known = function_types()[index];
  if (!known.type) {
    Py_INCREF(object);
    known.type = type;
    known.category = category;
    known.name_of = Py_NewRef(name_of);
    known.as_callback = Py_NewRef(as_callback);
    known.told = told == "pointer" ? Told::kPointer : told == "address" ? Told::kAddress : Told::kPython;
    known.original = {type->tp_call, known.told == Told::kPointer ? type->tp_new : nullptr};
    if (known.told == Told::kPython && !(known.attribute = PyUnicode_InternFromString(text))) return nullptr;
    PyObject* method = PyObject_GetAttrString(object, "__call__");
    if (!method) return nullptr;
    if (Py_IS_TYPE(method, &PyWrapperDescr_Type) && reinterpret_cast<PyDescrObject*>(method)->d_type == type) {
      known.method = reinterpret_cast<PyWrapperDescrObject*>(method);  // it lives as long as the type
    }
    Py_DECREF(method);
  }
  return exchange_all(known, known.original, kSlots[index]) ? Py_NewRef(Py_True) : nullptr;
}

PyMethodDef methods[] = {
    {"intercept_function_objects", intercept_function_objects, METH_VARARGS,
     "intercept_function_objects(type, told, category, name_of, as_callback)\n--\n\nRecord calls of objects of a type, and of "
     "those derived from it, that stand for a native function each: `told` is pointer, address, or the attribute that has "
     "the Python function of which it was made. name_of(object, library, symbol) is asked once for a name, with that Python "
     "function where there is one; library is None where nobody knows it, and empty of Python. What an object is made of "
     "that can be called becomes as_callback(it). False: the type has no slot that all calls go through."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void restore_function_objects() {
  for (size_t index = 0; index < kMostTypes; index++) {
    FunctionType& known = function_types()[index];
    if (known.type && !exchange_all(known, kSlots[index], known.original)) PyErr_Clear();
  }
}

bool add_function_objects(PyObject* module) { return PyModule_AddFunctions(module, methods) == 0; }

}  // namespace rlscope
