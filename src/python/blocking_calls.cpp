// Stand-ins for functions whose arguments or state decide whether they block.
#include "blocking_calls.h"

#include <sys/stat.h>

#include <cstring>

#include "interception.h"
#include "session.h"

namespace rlscope {
namespace {

struct BlockingCall {
  const char* name;
  int flags;
  void* replacement;
  void* original;
  CodedId id;
};
extern BlockingCall calls[];

// Runs `original` as time spent waiting.
template <int index, class... Arguments>
PyObject* wait(Arguments... arguments) {
  BlockingCall& call = calls[index];
  auto original = reinterpret_cast<PyObject* (*)(Arguments...)>(call.original);
  StreamWriter* writer = Session::writer();
  if (!writer) return original(arguments...);
  if (call.id.id == 0) call.id = Session::intern(NameKind::kBoundary, Category::kWait, call.name);
  uint32_t depth = writer->depth();
  if (!writer->begin(call.id)) return original(arguments...);
  PyObject* result = original(arguments...);
  if (t_writer == writer) writer->end_to(depth);
  return result;
}

template <int index, class... Arguments>
PyObject* pass(Arguments... arguments) {
  return reinterpret_cast<PyObject* (*)(Arguments...)>(calls[index].original)(arguments...);
}

PyObject* only_false() {
  static PyObject* arguments = PyTuple_Pack(1, Py_False);
  return arguments;
}

// The usual call has no arguments: an attempt that does not block shows whether another thread holds the lock.
template <int index>
PyObject* acquire_with_keywords(PyObject* self, PyObject* args, PyObject* keywords) {
  Py_ssize_t given = PyTuple_GET_SIZE(args);
  if (given == 0 && (!keywords || PyDict_GET_SIZE(keywords) == 0)) {
    PyObject* is_acquired = pass<index>(self, only_false(), static_cast<PyObject*>(nullptr));
    if (is_acquired != Py_False) return is_acquired;
    Py_DECREF(is_acquired);
    return wait<index>(self, args, keywords);
  }
  PyObject* blocking = given > 0 ? PyTuple_GET_ITEM(args, 0) : PyDict_GetItemString(keywords, "blocking");
  if (blocking == Py_False) return pass<index>(self, args, keywords);
  return wait<index>(self, args, keywords);
}

template <int index>
PyObject* acquire_semaphore(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  if (given == 0 && !keywords) {
    PyObject* attempt[] = {Py_False};
    PyObject* is_acquired = pass<index>(self, static_cast<PyObject* const*>(attempt), Py_ssize_t{1}, keywords);
    if (is_acquired != Py_False) return is_acquired;
    Py_DECREF(is_acquired);
    return wait<index>(self, args, given, keywords);
  }
  if (given > 0 && args[0] == Py_False) return pass<index>(self, args, given, keywords);
  return wait<index>(self, args, given, keywords);
}

template <int index>
PyObject* enter_semaphore(PyObject* self, PyObject* unused) {
  PyObject* is_acquired = PyObject_CallMethod(self, "acquire", "O", Py_False);
  if (is_acquired != Py_False) return is_acquired;
  Py_DECREF(is_acquired);
  return wait<index>(self, unused);
}

template <int index>
PyObject* get_from_queue(PyObject* self, PyTypeObject* type, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  PyObject* is_empty = PyObject_CallMethod(self, "empty", nullptr);
  if (!is_empty) return nullptr;
  Py_DECREF(is_empty);
  if (is_empty == Py_False) return pass<index>(self, type, args, given, keywords);
  return wait<index>(self, type, args, given, keywords);
}

// Files are read in no time that anybody waits for; pipes, sockets and terminals are what programs wait at.
template <int index>
PyObject* read_descriptor(PyObject* module, PyObject* const* args, Py_ssize_t given) {
  if (given > 0 && PyLong_CheckExact(args[0])) {
    int overflow;
    long descriptor = PyLong_AsLongAndOverflow(args[0], &overflow);
    struct stat status;
    bool is_stream = overflow == 0 && fstat(static_cast<int>(descriptor), &status) == 0 &&
                     (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
    if (is_stream) return wait<index>(module, args, given);
  }
  return pass<index>(module, args, given);
}

// No interpreter shutdown follows: the trace is completed here.
template <int index>
PyObject* exit_process(PyObject* module, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  PyObject* status = given > 0 ? args[0] : nullptr;
  if (status && PyLong_Check(status)) {
    int overflow;
    Session::stop(EndReason::kExit, static_cast<int32_t>(PyLong_AsLongAndOverflow(status, &overflow) & 0xFF));
  }
  return pass<index>(module, args, given, keywords);
}

template <class Function>
void* pointer_to(Function function) {
  return reinterpret_cast<void*>(function);
}

constexpr int kKeywords = METH_VARARGS | METH_KEYWORDS;
constexpr int kFastKeywords = METH_FASTCALL | METH_KEYWORDS;
BlockingCall calls[] = {
    {"_thread.lock.acquire", kKeywords, pointer_to(acquire_with_keywords<0>), nullptr, {}},
    {"_thread.lock.acquire_lock", kKeywords, pointer_to(acquire_with_keywords<1>), nullptr, {}},
    {"_thread.lock.__enter__", kKeywords, pointer_to(acquire_with_keywords<2>), nullptr, {}},
    {"_thread.RLock.acquire", kKeywords, pointer_to(acquire_with_keywords<3>), nullptr, {}},
    {"_thread.RLock.__enter__", kKeywords, pointer_to(acquire_with_keywords<4>), nullptr, {}},
    {"_multiprocessing.SemLock.acquire", kFastKeywords, pointer_to(acquire_semaphore<5>), nullptr, {}},
    {"_multiprocessing.SemLock.__enter__", METH_NOARGS, pointer_to(enter_semaphore<6>), nullptr, {}},
    {"_queue.SimpleQueue.get", METH_METHOD | kFastKeywords, pointer_to(get_from_queue<7>), nullptr, {}},
    {"posix.read", METH_FASTCALL, pointer_to(read_descriptor<8>), nullptr, {}},
    {"posix._exit", kFastKeywords, pointer_to(exit_process<9>), nullptr, {}},
};

}  // namespace

void* original_of_blocking_call(void* entry) {
  for (const BlockingCall& call : calls) {
    if (call.replacement == entry) return call.original;
  }
  return entry;
}

bool intercept_blocking_call(PyMethodDef* def, const char* name, PyObject* owner) {
  for (BlockingCall& call : calls) {
    if (std::strcmp(call.name, name) != 0) continue;
    if ((def->ml_flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) != call.flags) return false;
    auto** where = reinterpret_cast<void**>(&def->ml_meth);
    if (*where != call.replacement) call.original = *where;
    swap_for(where, call.replacement, owner);
    return true;
  }
  return false;
}

}  // namespace rlscope
