// Keeps buffers that are zeroed.
#include "buffer_pool.h"

#include <sys/mman.h>

#include <cstring>

namespace rlscope::cuda {
namespace {

constexpr size_t kReady = 4;
constexpr size_t kMostKept = 64;

uint8_t* map_buffer(int flags) {
  void* buffer =
      mmap(nullptr, BufferPool::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return buffer == MAP_FAILED ? nullptr : static_cast<uint8_t*>(buffer);
}

}  // namespace

uint8_t* BufferPool::take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      uint8_t* buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
  }
  return map_buffer(0);
}

void BufferPool::give(uint8_t* buffer) {
  std::memset(buffer, 0, kBytes);
  put(buffer);
}

void BufferPool::refill() {
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (free_.size() >= kReady) return;
    }
    uint8_t* buffer = map_buffer(MAP_POPULATE);  // its pages exist before the program has to wait for them
    if (!buffer) return;
    put(buffer);
  }
}

void BufferPool::put(uint8_t* buffer) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < kMostKept) {
      free_.push_back(buffer);
      return;
    }
  }
  munmap(buffer, kBytes);
}

}  // namespace rlscope::cuda
