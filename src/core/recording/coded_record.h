// A record of several numbers, put together before it is stored: after SIGKILL it is in the file whole or not at all.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "varint.h"

namespace rlscope {

class CodedRecord {
 public:
  // What `store` may touch: eight numbers, and a word that is stored whole.
  static constexpr uint32_t kRoom = 72;

  void append(uint64_t value) {
    unsigned bytes;
    uint64_t word = encode_varint(std::min(value, kMaxVarintValue), bytes);
    std::memcpy(coded_ + used_, &word, sizeof word);
    used_ += bytes;
  }

  // Returns the bytes of the record. Its first word comes last: until it is there, the zero before it ends the chunk.
  unsigned store(uint8_t* cursor) const {
    if (used_ > 8) std::memcpy(cursor + 8, coded_ + 8, used_ - 8);
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(cursor, coded_, 8);
    return used_;
  }

 private:
  uint8_t coded_[kRoom] = {};
  unsigned used_ = 0;
};

}  // namespace rlscope
