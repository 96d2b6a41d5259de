// The interpreter's own frames, read where they lie: to ask Python for them makes an object of each, for which opening an
// operation has no time.
#pragma once
#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000
#include "frames_310.h"
#elif PY_VERSION_HEX < 0x030C0000
#include "frames_311.h"
#elif PY_VERSION_HEX < 0x030E0000
#include "frames_312.h"
#elif PY_VERSION_HEX < 0x03100000
#include "frames_314.h"
#else
#error "rlscope does not know the frames of this Python: use Python 3.10 to 3.15, or write a frames_*.h from its pycore_interpframe_structs.h"
#endif

namespace rlscope {

#if PY_VERSION_HEX >= 0x030B0000
#if PY_VERSION_HEX < 0x030D0000
// Where the address of the innermost frame lies; null: the thread's state holds it itself.
inline const void* place_of_innermost(const PyThreadState* thread) {
  return reinterpret_cast<const char*>(thread->cframe) + offsetof(_PyCFrame, current_frame);
}
inline PythonFrame* innermost_of(const PyThreadState* thread) {
  return reinterpret_cast<PythonFrame*>(thread->cframe->current_frame);
}
#else
inline const void* place_of_innermost(const PyThreadState*) { return nullptr; }
inline PythonFrame* innermost_of(const PyThreadState* thread) { return reinterpret_cast<PythonFrame*>(thread->current_frame); }
#endif
inline PythonFrame* previous_of(const PythonFrame* frame) { return frame->previous; }
inline PyObject* globals_of(const PythonFrame* frame) { return frame->globals; }
// The number of the code unit at which the frame is; below 0: none has run yet.
inline ptrdiff_t code_unit_of(const PythonFrame* frame) {
  constexpr ptrdiff_t kCodeUnitBytes = 2;
  auto start = reinterpret_cast<uintptr_t>(code_of(frame)) + offsetof(PyCodeObject, co_code_adaptive);
  auto place = static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(frame->last_instruction) - start);
  return place < 0 ? -1 : place / kCodeUnitBytes;
}
// A number for the instruction at which the frame is.
inline uint64_t instruction_of(const PythonFrame* frame) { return reinterpret_cast<uint64_t>(frame->last_instruction); }
inline bool is_of_generator(const PythonFrame* frame) { return frame->owner == 1; }  // FRAME_OWNED_BY_GENERATOR
// The memory in which the frames of most functions lie in one piece, and where what is used of it ends.
inline const void* chunk_of(const PyThreadState* thread) { return thread->datastack_chunk; }
inline const void* end_of_chunk(const PyThreadState* thread) { return thread->datastack_top; }
// The bytes of a thread's state in which all of that lies.
constexpr size_t kThreadHead = offsetof(PyThreadState, datastack_top) + sizeof(PyObject*);
#endif

inline PythonFrame* caller_of(const PythonFrame* frame) {
  PythonFrame* caller = previous_of(frame);
  while (caller && !is_of_python(caller)) caller = previous_of(caller);
  return caller;
}
inline PythonFrame* current_frame() {
  PythonFrame* frame = innermost_of(PyThreadState_Get());
  return frame && !is_of_python(frame) ? caller_of(frame) : frame;
}

// Whether the code is of a coroutine, generator or asynchronous generator.
inline bool runs_in_steps(const PyCodeObject* code) {
  return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

}  // namespace rlscope
