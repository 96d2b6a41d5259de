// The buffers that CUPTI fills with records.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rlscope::cuda {

// CUPTI asks for a buffer in the middle of a launch. Most often it gets one that lies ready and zeroed: then neither it
// nor the operating system has to do that there and then.
class BufferPool {
 public:
  // 1200 kernels: buffers that are small are full soon, and a process that is killed takes few records with it.
  static constexpr size_t kBytes = 256 << 10;

  // Null where there is no memory; CUPTI then drops records and counts them.
  uint8_t* take();
  // Takes a buffer back, whatever is in it.
  void give(uint8_t* buffer);
  // Makes buffers until a few lie ready.
  void refill();

 private:
  void put(uint8_t* buffer);

  std::mutex mutex_;  // guards free_, for a moment
  std::vector<uint8_t*> free_;
};

}  // namespace rlscope::cuda
