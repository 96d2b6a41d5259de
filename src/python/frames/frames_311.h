// Frames of Python 3.11: the start of _PyInterpreterFrame, as its pycore_frame.h has it.
#pragma once
#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace rlscope {

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

inline PyCodeObject* code_of(const PythonFrame* frame) { return frame->code; }
inline PyObject* generator_of(PythonFrame* frame) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(frame) - offsetof(PyGenObject, gi_iframe));
}
inline bool is_of_python(const PythonFrame*) { return true; }
inline bool has_not_started(PyObject* generator) {
  return reinterpret_cast<PyGenObject*>(generator)->gi_frame_state == -2;  // FRAME_CREATED
}
inline bool is_suspended(PyObject* generator) {
  return reinterpret_cast<PyGenObject*>(generator)->gi_frame_state == -1;  // FRAME_SUSPENDED
}

}  // namespace rlscope
