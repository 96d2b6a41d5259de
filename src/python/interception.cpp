// Trampolines made by the assembler: each puts its number into the first argument register that the C signature leaves
// free and jumps to a common routine, so no code is made at run time.
#include "interception.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "blocking_calls.h"
#include "compiled_calls.h"

namespace rlscope {
namespace {

constexpr uint32_t kTrampolines = 4096;  // per argument count; PyTorch 2.13 needs 1,770 of the three-argument family
constexpr uint32_t kHot = 512;           // of these, kept for functions in the order of their first call
constexpr uint32_t kTrampolineBytes = 16;
constexpr int kFamilies = 4;

// What the hot path reads, 16 bytes: functions that are called lie side by side.
struct Slot {
  void* original;
  uint32_t coded_id;
  uint32_t id_bytes;
};

struct SlotInfo {
  void** where = nullptr;
  std::string name;
  Category category = Category::kPython;
  PyObject* owner = nullptr;  // never released: a trampoline may be running while recording stops
};

Slot slots[kFamilies][kTrampolines] __attribute__((aligned(64)));
SlotInfo infos[kFamilies][kTrampolines];
uint32_t used[kFamilies] = {kHot, kHot, kHot, kHot};
uint32_t used_hot[kFamilies];

#define TRAMPOLINES(family, reg)                                                                     \
  asm(".text\n.p2align 4\n.hidden rlscope_trampolines_" #family "\n.globl rlscope_trampolines_" #family \
      "\nrlscope_trampolines_" #family ":\n.set i,0\n.rept 4096\n.p2align 4\nendbr64\nmovl $i, %" #reg  \
      "\njmp rlscope_cross_" #family "\n.set i,i+1\n.endr\n");                                           \
  extern "C" char rlscope_trampolines_##family[];
TRAMPOLINES(2, edx)
TRAMPOLINES(3, ecx)
TRAMPOLINES(4, r8d)
TRAMPOLINES(5, r9d)
char* const trampolines[kFamilies] = {rlscope_trampolines_2, rlscope_trampolines_3, rlscope_trampolines_4,
                                      rlscope_trampolines_5};

bool is_ours(int family, void* pointer) {
  return pointer >= trampolines[family] && pointer < trampolines[family] + kTrampolines * kTrampolineBytes;
}

void write_pointer(void** where, void* value);

// First call: gives the name its id, and the function a place among those that are called.
__attribute__((noinline, cold)) void intern(int family, uint32_t index) {
  SlotInfo& info = infos[family][index];
  Slot& slot = slots[family][index];
  CodedId id = Session::intern(NameKind::kBoundary, info.category, info.name);
  slot.coded_id = id.coded;
  slot.id_bytes = id.bytes;
  if (index >= kHot && used_hot[family] < kHot && is_ours(family, *info.where)) {
    uint32_t hot = used_hot[family]++;
    slots[family][hot] = slot;
    infos[family][hot] = info;
    write_pointer(info.where, trampolines[family] + hot * kTrampolineBytes);
  }
}

// Not noexcept and without destructors: a daemon thread that sits in the original while the interpreter ends unwinds
// through here.
template <int family, class... Arguments>
inline PyObject* cross(uint32_t index, Arguments... arguments) {
  const Slot& slot = slots[family][index];
  auto original = reinterpret_cast<PyObject* (*)(Arguments...)>(slot.original);
  StreamWriter* writer = Session::writer();
  if (__builtin_expect(!writer, 0)) return original(arguments...);
  if (__builtin_expect(slot.coded_id == 0, 0)) intern(family, index);
  uint32_t depth = writer->depth();
  if (!writer->begin(slot.coded_id >> slot.id_bytes, slot.coded_id, slot.id_bytes)) return original(arguments...);
  PyObject* result = original(arguments...);
  if (__builtin_expect(t_writer == writer, 1)) writer->end_to(depth);  // differs in a child forked off inside
  return result;
}

}  // namespace

#define CROSSING(family) extern "C" __attribute__((used, visibility("hidden"))) PyObject* rlscope_cross_##family
CROSSING(2)(void* a, void* b, uint32_t index) { return cross<0>(index, a, b); }
CROSSING(3)(void* a, void* b, void* c, uint32_t index) { return cross<1>(index, a, b, c); }
CROSSING(4)(void* a, void* b, void* c, void* d, uint32_t index) { return cross<2>(index, a, b, c, d); }
CROSSING(5)(void* a, void* b, void* c, void* d, void* e, uint32_t index) { return cross<3>(index, a, b, c, d, e); }

namespace {

struct Swap {
  void* original;
  void* replacement;  // null: a trampoline of `family`
  int family;
};
std::unordered_map<void**, Swap>& swaps() {
  static auto* swaps = new std::unordered_map<void**, Swap>;
  return *swaps;
}
std::unordered_map<void**, std::pair<int, uint32_t>>& known_slots() {
  static auto* known = new std::unordered_map<void**, std::pair<int, uint32_t>>;
  return *known;
}

// A range of addresses with one protection, from /proc/self/maps.
struct Mapping {
  uintptr_t start, end;
  int protection;
};

std::vector<Mapping> read_mappings() {
  std::vector<Mapping> mappings;
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return mappings;
  char line[512];
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long start, end;
    char permissions[5];
    if (std::sscanf(line, "%lx-%lx %4s", &start, &end, permissions) != 3) continue;
    int protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                     (permissions[2] == 'x' ? PROT_EXEC : 0);
    mappings.push_back({start, end, protection});
  }
  std::fclose(maps);
  return mappings;
}

// Reading the mappings for each of two thousand pointers would take longer than everything else at start-up; using them
// for longer would miss what was mapped since.
constexpr uint64_t kMappingsValidNs = 10'000'000;

int protection_of(void* address) {
  static auto* mappings = new std::vector<Mapping>;
  static uint64_t read_at_ns = 0;
  if (monotonic_ns() - read_at_ns > kMappingsValidNs) {
    *mappings = read_mappings();
    read_at_ns = monotonic_ns();
  }
  auto target = reinterpret_cast<uintptr_t>(address);
  for (const Mapping& mapping : *mappings) {
    if (target >= mapping.start && target < mapping.end) return mapping.protection;
  }
  return PROT_READ | PROT_WRITE;
}

// Method tables may lie in pages that the loader made read-only.
void write_pointer(void** where, void* value) {
  auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(where) & ~(page_bytes - 1));
  int protection = protection_of(where);
  bool is_writable = protection & PROT_WRITE;
  if (!is_writable && mprotect(page, page_bytes, protection | PROT_WRITE) != 0) return;
  __atomic_store_n(where, value, __ATOMIC_RELEASE);
  if (!is_writable) mprotect(page, page_bytes, protection);
}

void* original_of(void* entry) {
  for (int family = 0; family < kFamilies; family++) {
    if (is_ours(family, entry)) {
      return slots[family][(static_cast<char*>(entry) - trampolines[family]) / kTrampolineBytes].original;
    }
  }
  return original_of_blocking_call(entry);
}

// A built-in function's hash and equality are made of its function pointer: without a correction it could not be found
// in a dictionary that was filled before the pointer was swapped (PyTorch's graphs are such dictionaries).
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

void correct_builtin_types() {
  for (BuiltinType& builtin : builtin_types) {
    if (builtin.type->tp_hash == hash_of_builtin) continue;
    builtin.hash = builtin.type->tp_hash;
    builtin.compare = builtin.type->tp_richcompare;
    builtin.type->tp_hash = hash_of_builtin;
    builtin.type->tp_richcompare = compare_builtins;
  }
}

void restore_builtin_types() {
  for (BuiltinType& builtin : builtin_types) {
    if (builtin.type->tp_hash != hash_of_builtin) continue;
    builtin.type->tp_hash = builtin.hash;
    builtin.type->tp_richcompare = builtin.compare;
  }
}

int argument_count(int flags) {
  switch (flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD)) {
    case METH_NOARGS:
    case METH_O:
    case METH_VARARGS:
      return 2;
    case METH_VARARGS | METH_KEYWORDS:
    case METH_FASTCALL:
      return 3;
    case METH_FASTCALL | METH_KEYWORDS:
      return 4;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
      return 5;
    default:
      return 0;
  }
}

}  // namespace

PyMethodDef* method_def_of(PyObject* object) {
  if (PyCFunction_Check(object)) return reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyClassMethodDescr_Type) {
    return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  }
  return nullptr;
}

bool swap_for_trampoline(void** where, int arguments, Category category, const char* name, PyObject* owner) {
  int family = arguments - 2;
  if (swaps().count(where)) return true;  // several objects may share one definition
  auto known = known_slots().find(where);
  uint32_t index;
  if (known != known_slots().end()) {
    index = known->second.second;
    if (slots[family][index].original != *where) slots[family][index].original = *where;
  } else {
    if (used[family] >= kTrampolines) return false;
    index = used[family]++;
    known_slots()[where] = {family, index};
    slots[family][index] = {*where, 0, 0};
    infos[family][index] = {where, name, category, Py_NewRef(owner)};
  }
  correct_builtin_types();
  swaps()[where] = {*where, nullptr, family};
  write_pointer(where, trampolines[family] + index * kTrampolineBytes);
  return true;
}

void swap_for(void** where, void* replacement, PyObject* owner) {
  if (swaps().count(where)) return;
  Py_INCREF(owner);
  correct_builtin_types();
  swaps()[where] = {*where, replacement, 0};
  write_pointer(where, replacement);
}

void restore_all() {
  for (auto& [where, swap] : swaps()) {
    bool is_untouched = swap.replacement ? *where == swap.replacement : is_ours(swap.family, *where);
    if (is_untouched) write_pointer(where, swap.original);
  }
  swaps().clear();
  restore_builtin_types();
  restore_compiled_calls();
}

int parse_category(PyObject* value, void* category) {
  long number = PyLong_AsLong(value);
  if (number == -1 && PyErr_Occurred()) return 0;
  if (number < 0 || number > static_cast<long>(Category::kWait)) {
    PyErr_Format(PyExc_ValueError, "a category is 0 to 4, not %ld", number);
    return 0;
  }
  *static_cast<Category*>(category) = static_cast<Category>(number);
  return 1;
}

namespace {

PyObject* report(bool has_room) {
  if (has_room) Py_RETURN_TRUE;
  return PyErr_Format(PyExc_RuntimeError, "all %u trampolines of one calling convention are in use", kTrampolines - kHot);
}

PyObject* intercept(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "OsO&", &object, &name, parse_category, &category)) return nullptr;
  if (PyMethodDef* def = method_def_of(object)) {
    if (intercept_blocking_call(def, name, object)) Py_RETURN_TRUE;
    int arguments = argument_count(def->ml_flags);
    if (arguments == 0 || !def->ml_meth) Py_RETURN_FALSE;
    return report(swap_for_trampoline(reinterpret_cast<void**>(&def->ml_meth), arguments, category, name, object));
  }
  // Objects that carry their own entry point: nanobind functions and methods, jitted callables.
  PyTypeObject* type = Py_TYPE(object);
  if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) && !PyFunction_Check(object) && !PyType_Check(object) &&
      !PyMethod_Check(object) && type->tp_vectorcall_offset > 0) {
    auto** where = reinterpret_cast<void**>(reinterpret_cast<char*>(object) + type->tp_vectorcall_offset);
    if (*where) return report(swap_for_trampoline(where, 4, category, name, object));
  }
  Py_RETURN_FALSE;
}

// x[i] and x[i] = v of a type that implements them natively.
PyObject* intercept_indexing(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  PyMappingMethods* mapping = type->tp_as_mapping;
  if (!mapping) Py_RETURN_FALSE;
  std::string get = std::string(name) + ".__getitem__", set = std::string(name) + ".__setitem__";
  bool has_room = true;
  if (mapping->mp_subscript) {
    has_room = swap_for_trampoline(reinterpret_cast<void**>(&mapping->mp_subscript), 2, category, get.c_str(), object);
  }
  if (has_room && mapping->mp_ass_subscript) {
    has_room =
        swap_for_trampoline(reinterpret_cast<void**>(&mapping->mp_ass_subscript), 3, category, set.c_str(), object);
  }
  return report(has_room);
}

// The buffer protocol of a type: numpy.asarray(x), memoryview(x).
PyObject* intercept_buffers(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  PyBufferProcs* procedures = reinterpret_cast<PyTypeObject*>(object)->tp_as_buffer;
  if (!procedures || !procedures->bf_getbuffer) Py_RETURN_FALSE;
  return report(swap_for_trampoline(reinterpret_cast<void**>(&procedures->bf_getbuffer), 3, category, name, object));
}

// Making an object of a native type from others: Type(...).
PyObject* intercept_construction(PyObject*, PyObject* args) {
  PyObject* object;
  const char* name;
  Category category;
  if (!PyArg_ParseTuple(args, "O!sO&", &PyType_Type, &object, &name, parse_category, &category)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (!type->tp_init) Py_RETURN_FALSE;
  return report(swap_for_trampoline(reinterpret_cast<void**>(&type->tp_init), 3, category, name, object));
}

PyObject* restore(PyObject*, PyObject*) {
  restore_all();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"intercept", intercept, METH_VARARGS,
     "intercept(function, name, category)\n--\n\nRecord calls of a native function. False: it cannot be intercepted."},
    {"intercept_indexing", intercept_indexing, METH_VARARGS,
     "intercept_indexing(type, name, category)\n--\n\nRecord x[i] and x[i] = v of a native type."},
    {"intercept_buffers", intercept_buffers, METH_VARARGS,
     "intercept_buffers(type, name, category)\n--\n\nRecord who gets the memory of a native type's objects."},
    {"intercept_construction", intercept_construction, METH_VARARGS,
     "intercept_construction(type, name, category)\n--\n\nRecord the making of a native type's objects by Python."},
    {"restore_all", restore, METH_NOARGS, "restore_all()\n--\n\nPut back everything that was intercepted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_interception(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
