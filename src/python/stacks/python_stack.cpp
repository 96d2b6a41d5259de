// The frames that most functions have lie in one piece of memory, which is copied at once, so that they fit together.
#include "python_stack.h"

#include <cstring>

#include "clock.h"
#include "python_memory.h"

namespace rlscope {
namespace {

constexpr size_t kMostCopied = 16 << 10;  // what CPython takes for frames at a time

struct ThreadHead {
  alignas(PyThreadState) uint8_t bytes[sizeof(PyThreadState)];
  const PyThreadState* operator->() const { return reinterpret_cast<const PyThreadState*>(bytes); }
  operator const PyThreadState*() const { return operator->(); }
};

// A generator has a caller while it runs, so one without has yielded since.
bool has_yielded(const PythonFrame& frame) { return !previous_of(&frame) && is_of_generator(&frame); }

}  // namespace

// Copies the address of the innermost frame and the frames of the chunk at once.
bool PythonStackReader::copy(const void* place, const void*& innermost, const void* chunk, const void* end) {
  auto from = reinterpret_cast<uintptr_t>(chunk);
  auto until = reinterpret_cast<uintptr_t>(end);
  bool is_chunk = from != 0 && until > from && until - from <= kMostCopied;
  copied_from_ = from;
  copy_.resize(is_chunk ? until - from : 0);
  reads_.clear();
  if (place) reads_.add(place, &innermost, sizeof innermost);
  if (is_chunk) reads_.add(chunk, copy_.data(), copy_.size());
  if (place) begin();
  bool is_copied = (!place && !is_chunk) || reads_.read();
  took_ns_ = monotonic_ns() - began_ns_;
  return is_copied;
}

void PythonStackReader::begin() {
  began_ns_ = monotonic_ns();
  ticks_ = now_ticks();
}

bool PythonStackReader::read_frame(const PythonFrame* address, PythonFrame& frame) const {
  auto place = reinterpret_cast<uintptr_t>(address);
  // A torn address may be any number, so nothing is added to it.
  uintptr_t offset = place - copied_from_;
  if (place < copied_from_ || copy_.size() < sizeof frame || offset > copy_.size() - sizeof frame) {
    return read_memory(address, &frame, sizeof frame);
  }
  std::memcpy(static_cast<void*>(&frame), &copy_[offset], sizeof frame);
  return true;
}

Seen PythonStackReader::read(const PyThreadState* thread, std::vector<SeenFrame>& frames) {
  frames.clear();
  ThreadHead head;
  begin();
  if (!read_memory(thread, head.bytes, kThreadHead)) return Seen::kTorn;
  is_traced_ = head->c_profilefunc || head->c_tracefunc;
  const void* place = place_of_innermost(head);
  const void* innermost = place ? nullptr : innermost_of(head);
  if (!copy(place, innermost, chunk_of(head), end_of_chunk(head))) return Seen::kTorn;
  const auto* next = static_cast<const PythonFrame*>(innermost);
  for (size_t looked_at = 0; next && looked_at < kMostFrames; looked_at++) {
    PythonFrame frame{};
    if (!read_frame(next, frame)) return Seen::kTorn;
    if (is_of_python(&frame)) frames.push_back({code_of(&frame), code_unit_of(&frame)});
    if (previous_of(&frame) == next || has_yielded(frame)) return Seen::kTorn;
    next = previous_of(&frame);
  }
  return frames.empty() ? Seen::kNothing : Seen::kStack;
}

const PyThreadState* find_thread(PyInterpreterState* interpreter, uint64_t thread_id) {
#if PY_VERSION_HEX >= 0x030B0000
  constexpr size_t kMostThreads = 1 << 12;
  const PyThreadState* thread = PyInterpreterState_ThreadHead(interpreter);
  for (size_t i = 0; thread && i < kMostThreads; i++) {
    ThreadHead head;
    if (!read_memory(thread, head.bytes, kThreadHead)) return nullptr;
    if (head->native_thread_id == thread_id) return thread;
    thread = head->next;
  }
#else
  (void)interpreter, (void)thread_id;
#endif
  return nullptr;
}

}  // namespace rlscope
