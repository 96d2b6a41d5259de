// Reads the Python stack of a thread that runs on meanwhile.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "python_frames.h"
#include "python_memory.h"

namespace rlscope {

// Of a stack, so many frames are read, from the innermost on.
constexpr size_t kMostFrames = 512;

struct SeenFrame {
  const void* code;
  ptrdiff_t instruction;  // the number of its code unit; below 0: none has run yet

  bool operator==(const SeenFrame& other) const { return code == other.code && instruction == other.instruction; }
};

enum class Seen { kStack, kNothing, kTorn };

class PythonStackReader {
 public:
  // The stack of a thread by its thread state, innermost first. kNothing: it runs no Python. kTorn: what was read does not fit
  // together, because the thread went on.
  Seen read(const PyThreadState* thread, std::vector<SeenFrame>& frames);
  // When the innermost frame of the last stack was looked up, and how long it took until all frames were copied: for so long
  // the thread may have been elsewhere.
  uint64_t ticks() const { return ticks_; }
  uint64_t took_ns() const { return took_ns_; }
  // Whether a function is called at each line or call of the thread that was read last, as debuggers and profilers want.
  bool is_traced() const { return is_traced_; }

 private:
  void begin();
  bool read_frame(const PythonFrame* address, PythonFrame& frame) const;
  bool copy(const void* place, const void*& innermost, const void* chunk, const void* end);

  std::vector<uint8_t> copy_;  // of the part of the thread's frames that was read at once
  uintptr_t copied_from_ = 0;
  uint64_t ticks_ = 0, began_ns_ = 0, took_ns_ = 0;
  bool is_traced_ = false;
  MemoryReads reads_;
};

// The thread states of an interpreter by the operating system's ids of their threads. None before Python 3.11, which does not
// tell them.
const PyThreadState* find_thread(PyInterpreterState* interpreter, uint64_t thread_id);

}  // namespace rlscope
