// Frames of Python 3.10, which are objects, and what the state of a thread says of them.
#pragma once
#include <Python.h>
#include <frameobject.h>

#include <cstddef>
#include <cstdint>

namespace rlscope {

using PythonFrame = PyFrameObject;

inline const void* place_of_innermost(const PyThreadState*) { return nullptr; }
inline PythonFrame* innermost_of(const PyThreadState* thread) { return thread->frame; }
inline PythonFrame* previous_of(const PythonFrame* frame) { return frame->f_back; }
inline PyCodeObject* code_of(const PythonFrame* frame) { return frame->f_code; }
inline PyObject* globals_of(const PythonFrame* frame) { return frame->f_globals; }
inline ptrdiff_t code_unit_of(const PythonFrame* frame) { return frame->f_lasti; }
inline uint64_t instruction_of(const PythonFrame* frame) {
  return reinterpret_cast<uint64_t>(frame->f_code) + static_cast<uint64_t>(frame->f_lasti);
}
inline PyObject* generator_of(PythonFrame* frame) { return frame->f_gen; }
inline bool is_of_generator(const PythonFrame* frame) { return frame->f_gen != nullptr; }
inline bool is_of_python(const PythonFrame*) { return true; }
inline bool has_not_started(PyObject* generator) {
  PyFrameObject* frame = reinterpret_cast<PyGenObject*>(generator)->gi_frame;
  return frame && frame->f_state == FRAME_CREATED;
}
inline bool is_suspended(PyObject* generator) {
  PyFrameObject* frame = reinterpret_cast<PyGenObject*>(generator)->gi_frame;
  return frame && frame->f_state == FRAME_SUSPENDED;
}

// Each frame lies by itself.
inline const void* chunk_of(const PyThreadState*) { return nullptr; }
inline const void* end_of_chunk(const PyThreadState*) { return nullptr; }
constexpr size_t kThreadHead = offsetof(PyThreadState, c_traceobj);

}  // namespace rlscope
