// What is asked of this process from outside: a number in memory that all processes of a run share, odd while a window is to
// be recorded.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api.h"
#include "clock.h"

namespace rlscope {

// A page that `rlscope record` makes and all processes of its run map. It can neither shrink nor grow, so no look at it is a
// fault. What is rarely read lies apart from the number, at which every call looks.
struct SharedPage {
  static constexpr size_t kBytes = 4096;

  alignas(kBytes) std::atomic<uint32_t> asked;
  alignas(64) std::atomic<uint32_t> ready;  // a window that a process may ask for at its own time
  std::atomic<uint32_t> reached;            // a window whose iterations have been recorded
  std::atomic<uint32_t> failed;             // a window that a process could not record
  std::atomic<uint32_t> failed_errno;       // and why
  alignas(64) std::atomic<uint64_t> iterations;  // of the process that reported most
};
static_assert(sizeof(SharedPage) == SharedPage::kBytes);

// What a call reads to know that it has nothing to do. Two pages, for the shared one is mapped over the first one: so
// trampolines, which the assembler makes, need to know one address only.
struct Gate {
  static constexpr uint32_t kNever = ~uint32_t{0};  // no number is this one

  SharedPage shared;
  alignas(SharedPage::kBytes) std::atomic<uint32_t> quiet;  // calls have nothing to do while this is asked; kNever if all have
};
extern "C" RLSCOPE_API Gate rlscope_gate;

class RLSCOPE_API Requests {
 public:
  static constexpr uint64_t kNotDue = ~uint64_t{0};

  // Makes a page, which lives as long as a process has it open or mapped. Returns a descriptor, -1 with errno.
  static int make_page();
  // Maps the page that is open as `path`. From then on calls `on_news`, on any thread and at any record or crossing, until
  // the number in it has been followed, and when something is due. Forked children have it mapped, too.
  // Returns an errno, 0 for success: ESTALE where that is no such page, or another one than `inode`.
  static int map(const std::string& path, ino_t inode, void (*on_news)());
  static bool are_mapped() { return are_mapped_.load(std::memory_order_relaxed); }

  static uint32_t number() { return rlscope_gate.shared.asked.load(std::memory_order_relaxed); }
  static bool are_news() { return number() != followed_.load(std::memory_order_relaxed); }
  // Whether this process has something to do, in a record that has time for the question.
  static bool are_due() {
    uint64_t due_ns = due_ns_.load(std::memory_order_relaxed);
    return are_news() || (due_ns != kNotDue && monotonic_ns() >= due_ns);
  }
  static void notice() { on_news_(); }
  static void follow(uint32_t number) {
    followed_ = number;
    if (!is_recording()) rlscope_gate.quiet = number;
  }
  // When this process has to look at what it records, in ns of CLOCK_MONOTONIC. The next record that has time sees it.
  static void set_due(uint64_t due_ns) { due_ns_ = due_ns; }
  // Asks all processes for another number, unless it is no longer the one that is known here.
  static bool ask(uint32_t known, uint32_t number) {
    return rlscope_gate.shared.asked.compare_exchange_strong(known, number);
  }
  // The window that is followed cannot be recorded. Whether that is new: a disk may be full for many windows.
  static bool note_failure(int error) {
    rlscope_gate.shared.failed_errno = static_cast<uint32_t>(error);
    rlscope_gate.shared.failed = followed_.load(std::memory_order_relaxed);
    has_failed_ = true;
    return !is_failing_.exchange(true);
  }
  static void forget_failures() { has_failed_ = is_failing_ = false; }

  // Whether calls have nothing to do.
  static bool is_quiet() { return number() == rlscope_gate.quiet.load(std::memory_order_relaxed); }
  static bool is_recording() { return rlscope_gate.quiet.load(std::memory_order_relaxed) == Gate::kNever; }
  static void set_recording(bool is_recording) {
    if (is_recording && !has_failed_.exchange(false)) is_failing_ = false;
    rlscope_gate.quiet = is_recording ? Gate::kNever : followed_.load(std::memory_order_relaxed);
  }

 private:
  static std::atomic<bool> are_mapped_;
  static std::atomic<uint32_t> followed_;
  static std::atomic<uint64_t> due_ns_;
  static std::atomic<bool> has_failed_;  // the recording that goes on, or was last
  static std::atomic<bool> is_failing_;  // no recording since the first failure was without one
  static void (*on_news_)();
};

}  // namespace rlscope
