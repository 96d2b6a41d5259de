// Prefix varints: n bytes hold n-1 one bits, a zero bit, then 7n bits of value; the length is known from the first byte.
#pragma once
#include <cstdint>
#include <cstring>

namespace rlscope {

constexpr unsigned kMaxVarintBytes = 8;
constexpr uint64_t kMaxVarintValue = (1ull << 56) - 1;

// Codes 1 <= value <= kMaxVarintValue into the low `bytes` bytes of the result. ceil(bits / 7) without a division.
inline uint64_t encode_varint(uint64_t value, unsigned& bytes) {
  unsigned bits = 64 - static_cast<unsigned>(__builtin_clzll(value));
  bytes = (bits * 37 + 219) >> 8;
  return value << bytes | ((1ull << (bytes - 1)) - 1);
}

// Reads one varint at `cursor`, which must have 8 readable bytes. Returns 0 for a malformed one (eight one bits, or value 0).
inline uint64_t decode_varint(const uint8_t*& cursor) {
  uint64_t word;
  std::memcpy(&word, cursor, sizeof word);
  unsigned bytes = static_cast<unsigned>(__builtin_ctzll(~word | 1ull << 63)) + 1;
  if (__builtin_expect(bytes > kMaxVarintBytes, 0)) return 0;
  cursor += bytes;
  return (word & (~0ull >> (64 - 8 * bytes))) >> bytes;
}

}  // namespace rlscope
