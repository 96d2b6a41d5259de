// Notes which object a thread takes or waits for: a lock, a semaphore between processes, a thread, a process.
#pragma once
#include <Python.h>

#include "lock_page.h"
#include "session.h"

namespace rlscope {

// While it exists, the trace says what this thread waits for. With no object it says nothing.
class AwaitedScope {
 public:
  AwaitedScope(ObjectKind kind, uint64_t object) {
    if (object && Session::is_recording()) place_ = LockTable::begin_wait(kind, object);
  }
  ~AwaitedScope() {
    if (place_ && LockTable::is_shown()) LockTable::end_wait(place_);  // else in a child that was forked off meanwhile
  }
  AwaitedScope(const AwaitedScope&) = delete;
  AwaitedScope& operator=(const AwaitedScope&) = delete;

 private:
  AwaitedObject* place_ = nullptr;
};

inline void note_taken(uint64_t object) {
  if (object && Session::is_recording()) LockTable::take(object);
}

inline uint64_t object_of_lock(PyObject* lock) { return reinterpret_cast<uintptr_t>(lock); }
// The same in every process that has the semaphore; 0 where it may be released by others than have acquired it.
uint64_t object_of_semaphore(PyObject* semaphore);
bool is_mutex(PyObject* semaphore);
// Of the thread in `threading` that has this in the attribute; 0 if none has.
uint64_t thread_with(const char* attribute, PyObject* value);

}  // namespace rlscope
