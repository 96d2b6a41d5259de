// What is asked of this process from outside: a number in a mapped file, odd while a window is to be recorded.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "api.h"

namespace rlscope {

class RLSCOPE_API Requests {
 public:
  // Calls `on_news`, on any thread and at any record or crossing, until the number in the file has been followed. The file
  // stays mapped, in forked children too. Returns an errno, 0 for success.
  static int map(const std::string& path, void (*on_news)());
  static bool are_mapped() { return number_.load(std::memory_order_relaxed) != &none_; }

  static uint32_t number() { return number_.load(std::memory_order_relaxed)->load(std::memory_order_relaxed); }
  static bool are_news() { return number() != followed_.load(std::memory_order_relaxed); }
  static void notice() { on_news_(); }
  static void follow(uint32_t number) { followed_ = number; }

 private:
  static std::atomic<uint32_t> none_;
  static std::atomic<const std::atomic<uint32_t>*> number_;
  static std::atomic<uint32_t> followed_;
  static void (*on_news_)();
};

}  // namespace rlscope
