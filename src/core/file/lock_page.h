// Shows in the page of a file's header who has which lock and who waits for what, so that a hang can be explained.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "api.h"
#include "clock.h"
#include "trace_format.h"

namespace rlscope {

// Of the process's recording; needs the GIL.
class LockTable {
 public:
  // In the page of this header from now on; null: nowhere.
  static void show_in(FileHeader* header) {
    page_ = header ? reinterpret_cast<LockPage*>(reinterpret_cast<uint8_t*>(header) + kLockPageOffset) : nullptr;
    shown_++;
  }
  static const LockPage* page() { return page_; }
  static bool is_shown() { return page_; }

  // This thread has taken a lock.
  static void take(uint64_t object) {
    if (!page_) return;
    // Of a few places that an object may have, its own, else the one that was written longest ago.
    uint64_t hash = object * 0x9E3779B97F4A7C15u >> 32;
    TakenLock* places = &page_->taken[(hash * (kTakenLocks / kPlacesOfLock) >> 32) * kPlacesOfLock];
    TakenLock* place = places;
    for (TakenLock* other = places; other < places + kPlacesOfLock && place->object != object; other++) {
      if (other->object == object || other->ticks < place->ticks) place = other;
    }
    *place = {object, thread_id(), now_ticks()};
  }

  // This thread waits. Returns the place that says so, to be given to end_wait(); null if there is none.
  static AwaitedObject* begin_wait(ObjectKind kind, uint64_t object) {
    if (!page_) return nullptr;
    for (AwaitedObject& place : page_->awaited) {
      if (place.thread_id != 0) continue;
      place.object = object;
      place.kind = kind;
      place.thread_id = static_cast<uint32_t>(thread_id());
      return &place;
    }
    return nullptr;
  }
  static void end_wait(AwaitedObject* place) { place->thread_id = 0; }

 private:
  // In the system; asked for again in a forked child.
  static uint64_t thread_id() {
    thread_local uint64_t known = 0, known_since = 0;
    if (known_since != shown_) {
      known = static_cast<uint64_t>(syscall(SYS_gettid));
      known_since = shown_;
    }
    return known;
  }

  RLSCOPE_API static LockPage* page_;
  RLSCOPE_API static uint64_t shown_;  // so many times
};

}  // namespace rlscope
