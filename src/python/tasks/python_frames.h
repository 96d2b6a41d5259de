// The interpreter's own frames, read where they lie: to ask Python for them makes an object of each, for which opening an
// operation has no time.
#pragma once
#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace rlscope {

#if PY_VERSION_HEX < 0x030B0000
using PythonFrame = PyFrameObject;
#elif PY_VERSION_HEX < 0x030C0000
// The start of _PyInterpreterFrame, as pycore_frame.h of this Python has it.
struct PythonFrame {
  PyFunctionObject* function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject* code;
  PyFrameObject* frame_object;
  PythonFrame* previous;
  void* last_instruction;
  int stack_top;
  bool is_entry;
  char owner;
};
#elif PY_VERSION_HEX < 0x030E0000
struct PythonFrame {
  PyCodeObject* code;
  PythonFrame* previous;
  PyObject *function, *globals, *builtins, *locals;
  PyFrameObject* frame_object;
  void* last_instruction;
  int stack_top;
  uint16_t return_offset;
  char owner;
};
#else
#error "Where this Python keeps the code of a frame is not known: read its pycore_frame.h."
#endif

#if PY_VERSION_HEX < 0x030B0000
inline PythonFrame* current_frame() { return PyThreadState_Get()->frame; }
inline PythonFrame* caller_of(PythonFrame* frame) { return frame->f_back; }
inline PyCodeObject* code_of(PythonFrame* frame) { return frame->f_code; }
inline PyObject* globals_of(PythonFrame* frame) { return frame->f_globals; }
// A number for the instruction at which the frame is.
inline uint64_t instruction_of(PythonFrame* frame) {
  return reinterpret_cast<uint64_t>(frame->f_code) + static_cast<uint64_t>(frame->f_lasti);
}
// The coroutine or generator that the frame is of, a borrowed reference.
inline PyObject* generator_of(PythonFrame* frame) { return frame->f_gen; }
inline bool has_not_started(PyObject* generator) {
  PyFrameObject* frame = reinterpret_cast<PyGenObject*>(generator)->gi_frame;
  return frame && frame->f_state == FRAME_CREATED;
}
inline bool is_suspended(PyObject* generator) {
  PyFrameObject* frame = reinterpret_cast<PyGenObject*>(generator)->gi_frame;
  return frame && frame->f_state == FRAME_SUSPENDED;
}
#else
inline PythonFrame* current_frame() {
#if PY_VERSION_HEX < 0x030D0000
  void* frame = PyThreadState_Get()->cframe->current_frame;
#else
  void* frame = PyThreadState_Get()->current_frame;
#endif
  return static_cast<PythonFrame*>(frame);
}
inline PythonFrame* caller_of(PythonFrame* frame) {
  constexpr char kOwnedByCStack = 3;  // since 3.12: stands for the C function between two Python functions
  do {
    frame = frame->previous;
  } while (frame && frame->owner == kOwnedByCStack);
  return frame;
}
inline PyCodeObject* code_of(PythonFrame* frame) { return frame->code; }
inline PyObject* globals_of(PythonFrame* frame) { return frame->globals; }
inline uint64_t instruction_of(PythonFrame* frame) { return reinterpret_cast<uint64_t>(frame->last_instruction); }
inline PyObject* generator_of(PythonFrame* frame) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(frame) - offsetof(PyGenObject, gi_iframe));
}
#if PY_VERSION_HEX < 0x030C0000
inline bool has_not_started(PyObject* generator) {
  return reinterpret_cast<PyGenObject*>(generator)->gi_frame_state == -2;  // FRAME_CREATED
}
inline bool is_suspended(PyObject* generator) {
  return reinterpret_cast<PyGenObject*>(generator)->gi_frame_state == -1;  // FRAME_SUSPENDED
}
#endif
#endif

// Whether the code is of a coroutine, generator or asynchronous generator.
inline bool runs_in_steps(PyCodeObject* code) {
  return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

}  // namespace rlscope
