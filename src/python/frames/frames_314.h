// Frames of Python 3.14 and 3.15: the start of _PyInterpreterFrame, and of the generators that hold one, as their
// pycore_interpframe_structs.h has them.
#pragma once
#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace rlscope {

struct PythonFrame {
  uintptr_t code;  // a _PyStackRef: the lowest bits say how its references are counted
  PythonFrame* previous;
  uintptr_t function;
  PyObject *globals, *builtins, *locals;
  PyFrameObject* frame_object;
  void* last_instruction;
  void* stack_pointer;
  uint16_t return_offset;
  char owner;
};

struct PythonGenerator {
  PyObject_HEAD
  PyObject *weak_references, *name, *qualified_name;
  _PyErr_StackItem exceptions;
  PyObject* origin_or_finalizer;
  char are_hooks_called, is_closed, is_running_async;
  int8_t frame_state;
  PythonFrame frame;
};

inline PyCodeObject* code_of(const PythonFrame* frame) {
  constexpr uintptr_t kTags = 3;
  return reinterpret_cast<PyCodeObject*>(frame->code & ~kTags);
}
inline PyObject* generator_of(PythonFrame* frame) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(frame) - offsetof(PythonGenerator, frame));
}
// FRAME_OWNED_BY_INTERPRETER and, in 3.14, FRAME_OWNED_BY_CSTACK stand for what is between two Python functions, and 3.15
// has one outside of all.
inline bool is_of_python(const PythonFrame* frame) { return frame->owner < 3; }

}  // namespace rlscope
