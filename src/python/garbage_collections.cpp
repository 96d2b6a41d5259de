// A collection is recorded when it is over: most are so short that they would cost more to record than they take.
#include "garbage_collections.h"

#include <cstdint>

#include "clock.h"
#include "session.h"

namespace rlscope {
namespace {

constexpr uint64_t kShortest_ns = 100'000;

struct Begun {
  uint64_t ticks;
  uint64_t ns;  // 0: none has begun
};
thread_local Begun t_begun{0, 0};

// As Python's `gc` calls it, on the thread that collects: with "start" or "stop".
PyObject* note_garbage_collection(PyObject*, PyObject* const* arguments, Py_ssize_t given) {
  StreamWriter* writer = given > 0 ? Session::recording_writer() : nullptr;
  Begun begun = t_begun;
  t_begun.ns = 0;
  if (!writer || !PyUnicode_Check(arguments[0])) Py_RETURN_NONE;
  if (PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0) {
    t_begun = {writer->look(), monotonic_ns()};
  } else if (begun.ns != 0 && monotonic_ns() - begun.ns >= kShortest_ns) {
    static const CodedId id = Session::intern(NameKind::kOperation, Category::kPython, "garbage_collection");
    if (id.id != 0 && writer->begin_at(id, begun.ticks)) writer->end();
  }
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"note_garbage_collection", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(note_garbage_collection)),
     METH_FASTCALL,
     "note_garbage_collection(when, information)\n--\n\nRecord a collection of 0.1 ms or more: one of gc.callbacks."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_garbage_collections(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace rlscope
