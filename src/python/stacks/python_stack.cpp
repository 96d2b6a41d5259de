// The frames that most functions have lie in one piece of memory, which is copied at once, so that they fit together.
#include "python_stack.h"

#include <cstring>

#include "clock.h"
#include "python_memory.h"

namespace rlscope {
namespace {

constexpr size_t kMostCopied = 16 << 10;  // what CPython takes for frames at a time
constexpr ptrdiff_t kCodeUnitBytes = 2;

const PythonFrame* caller(const PythonFrame& frame) {
#if PY_VERSION_HEX < 0x030B0000
  return frame.f_back;
#else
  return frame.previous;
#endif
}

SeenFrame seen(const PythonFrame& frame) {
#if PY_VERSION_HEX < 0x030B0000
  return {frame.f_code, frame.f_lasti};
#else
  auto start = reinterpret_cast<uintptr_t>(frame.code) + offsetof(PyCodeObject, co_code_adaptive);
  auto place = static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(frame.last_instruction) - start);
  return {frame.code, place < 0 ? -1 : place / kCodeUnitBytes};
#endif
}

// Since Python 3.12 a frame stands for the C function between two Python functions.
bool is_of_python(const PythonFrame& frame) {
#if PY_VERSION_HEX < 0x030C0000
  (void)frame;
  return true;
#else
  return frame.owner != 3;  // FRAME_OWNED_BY_CSTACK
#endif
}

// A generator has a caller while it runs, so one without has yielded since.
bool has_yielded(const PythonFrame& frame) {
#if PY_VERSION_HEX < 0x030B0000
  return !frame.f_back && frame.f_gen;
#else
  return !frame.previous && frame.owner == 1;  // FRAME_OWNED_BY_GENERATOR
#endif
}

#if PY_VERSION_HEX < 0x030B0000
constexpr size_t kThreadHead = offsetof(PyThreadState, c_traceobj);
#else
constexpr size_t kThreadHead = offsetof(PyThreadState, datastack_top) + sizeof(PyObject*);
#endif

struct ThreadHead {
  alignas(PyThreadState) uint8_t bytes[sizeof(PyThreadState)];
  const PyThreadState* operator->() const { return reinterpret_cast<const PyThreadState*>(bytes); }
};

// Where the address of the innermost frame lies; null: `frame` is that address.
const void* place_of_current_frame(const ThreadHead& thread, const void*& frame) {
#if PY_VERSION_HEX < 0x030B0000
  frame = thread->frame;
  return nullptr;
#elif PY_VERSION_HEX < 0x030D0000
  (void)frame;
  return reinterpret_cast<const uint8_t*>(thread->cframe) + offsetof(_PyCFrame, current_frame);
#else
  frame = thread->current_frame;
  return nullptr;
#endif
}

const void* chunk_of(const ThreadHead& thread) {
#if PY_VERSION_HEX < 0x030B0000
  (void)thread;
  return nullptr;  // each frame lies by itself
#else
  return thread->datastack_chunk;
#endif
}

const void* end_of_chunk(const ThreadHead& thread) {
#if PY_VERSION_HEX < 0x030B0000
  (void)thread;
  return nullptr;
#else
  return thread->datastack_top;
#endif
}

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
  const void* innermost = nullptr;
  begin();
  if (!read_memory(thread, head.bytes, kThreadHead)) return Seen::kTorn;
  is_traced_ = head->c_profilefunc || head->c_tracefunc;
  const void* place = place_of_current_frame(head, innermost);
  if (!copy(place, innermost, chunk_of(head), end_of_chunk(head))) return Seen::kTorn;
  const auto* next = static_cast<const PythonFrame*>(innermost);
  for (size_t looked_at = 0; next && looked_at < kMostFrames; looked_at++) {
    PythonFrame frame{};
    if (!read_frame(next, frame)) return Seen::kTorn;
    if (is_of_python(frame)) frames.push_back(seen(frame));
    if (caller(frame) == next || has_yielded(frame)) return Seen::kTorn;
    next = caller(frame);
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
