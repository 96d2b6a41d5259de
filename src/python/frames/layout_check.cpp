// A build knows the headers of one interpreter, and may meet another of the same version: one before its release, or with
// changes of a distribution. Interpreters say themselves where debuggers find their frames: in what _PyRuntime begins with.
#include "layout_check.h"

#include <iterator>

#include "python_frames.h"

#if PY_VERSION_HEX >= 0x030E0000
#define Py_BUILD_CORE
#include <internal/pycore_debug_offsets.h>
#undef Py_BUILD_CORE

extern "C" {
extern const _Py_DebugOffsets _PyRuntime;
}

namespace rlscope {
namespace {

struct Place {
  const char* name;
  uint64_t found, expected;
};

const Place* find_unknown(const Place* place, const Place* end) {
  while (place < end && place->found == place->expected) place++;
  return place < end ? place : nullptr;
}

}  // namespace

bool has_known_layout() {
  const _Py_DebugOffsets& found = _PyRuntime;
  const Place places[] = {
      {"a frame's code", found.interpreter_frame.executable, offsetof(PythonFrame, code)},
      {"a frame's caller", found.interpreter_frame.previous, offsetof(PythonFrame, previous)},
      {"a frame's instruction", found.interpreter_frame.instr_ptr, offsetof(PythonFrame, last_instruction)},
      {"a frame's owner", found.interpreter_frame.owner, offsetof(PythonFrame, owner)},
      {"a generator's frame", found.gen_object.gi_iframe, offsetof(PythonGenerator, frame)},
      {"a thread's frame", found.thread_state.current_frame, offsetof(PyThreadState, current_frame)},
      {"the next thread", found.thread_state.next, offsetof(PyThreadState, next)},
      {"a thread's number", found.thread_state.native_thread_id, offsetof(PyThreadState, native_thread_id)},
      {"a thread's frames", found.thread_state.datastack_chunk, offsetof(PyThreadState, datastack_chunk)},
      {"a code's instructions", found.code_object.co_code_adaptive, offsetof(PyCodeObject, co_code_adaptive)},
      {"a code's lines", found.code_object.linetable, offsetof(PyCodeObject, co_linetable)},
      {"a code's name", found.code_object.qualname, offsetof(PyCodeObject, co_qualname)},
  };
  const Place* unknown = find_unknown(std::begin(places), std::end(places));
  if (!unknown) return true;
  PyErr_Format(PyExc_ImportError,
               "rlscope was built for Python %s and cannot read the frames of this one, %s: expected %s at %llu, found it at %llu. "
               "Build rlscope for it: pip install --no-binary rlscope --force-reinstall rlscope",
               PY_VERSION, Py_GetVersion(), unknown->name, static_cast<unsigned long long>(unknown->expected),
               static_cast<unsigned long long>(unknown->found));
  return false;
}

}  // namespace rlscope
#else
namespace rlscope {

bool has_known_layout() { return true; }

}  // namespace rlscope
#endif
