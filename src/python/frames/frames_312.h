// Frames of Python 3.12 and 3.13: the start of _PyInterpreterFrame, as their pycore_frame.h has it.
#pragma once
#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace rlscope {

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

inline PyCodeObject* code_of(const PythonFrame* frame) { return frame->code; }
inline PyObject* generator_of(PythonFrame* frame) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(frame) - offsetof(PyGenObject, gi_iframe));
}
// FRAME_OWNED_BY_CSTACK stands for the C function between two Python functions.
inline bool is_of_python(const PythonFrame* frame) { return frame->owner < 3; }

}  // namespace rlscope
