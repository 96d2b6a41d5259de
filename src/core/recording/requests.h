// What is asked of this process from outside: a number in a mapped file, odd while a window is to be recorded.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api.h"

namespace rlscope {

// What a call reads to know that it has nothing to do. Two pages, for the file of requests is mapped over the first one:
// so trampolines, which the assembler makes, need to know one address only.
struct Gate {
  static constexpr size_t kPageBytes = 4096;
  static constexpr uint32_t kNever = ~uint32_t{0};  // more windows than anybody asks for

  alignas(kPageBytes) std::atomic<uint32_t> asked;
  alignas(kPageBytes) std::atomic<uint32_t> quiet;  // calls have nothing to do while this is asked; kNever if all have
};
extern "C" RLSCOPE_API Gate rlscope_gate;

class RLSCOPE_API Requests {
 public:
  // Calls `on_news`, on any thread and at any record or crossing, until the number in the file has been followed. The file
  // stays mapped, in forked children too. Returns an errno, 0 for success.
  static int map(const std::string& path, void (*on_news)());
  static bool are_mapped() { return are_mapped_.load(std::memory_order_relaxed); }

  static uint32_t number() { return rlscope_gate.asked.load(std::memory_order_relaxed); }
  static bool are_news() { return number() != followed_.load(std::memory_order_relaxed); }
  static void notice() { on_news_(); }
  static void follow(uint32_t number) {
    followed_ = number;
    if (!is_recording()) rlscope_gate.quiet = number;
  }
  // Whether calls have nothing to do.
  static bool is_quiet() { return number() == rlscope_gate.quiet.load(std::memory_order_relaxed); }
  static bool is_recording() { return rlscope_gate.quiet.load(std::memory_order_relaxed) == Gate::kNever; }
  static void set_recording(bool is_recording) {
    rlscope_gate.quiet = is_recording ? Gate::kNever : followed_.load(std::memory_order_relaxed);
  }

 private:
  static std::atomic<bool> are_mapped_;
  static std::atomic<uint32_t> followed_;
  static void (*on_news_)();
};

}  // namespace rlscope
