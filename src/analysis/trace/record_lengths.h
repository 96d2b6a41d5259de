// How long the records are that begin at each of some bytes, whether one does or not.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace_format.h"

namespace rlscope {

// Where a record begins is known from the ones before it, one after the other. So what it takes to go to the next one is
// found first, of all bytes at once.
class RecordLengths {
 public:
  static constexpr size_t kBytes = 256;
  static constexpr size_t kReadBeyond = 16;  // bytes behind these, whatever they hold

  explicit RecordLengths(const uint8_t* bytes);
  // Of a begin or an end, if its numbers have at most three bytes each; else 0.
  size_t at(size_t offset) const { return records_[offset]; }

 private:
  using Vector [[gnu::vector_size(16)]] = uint8_t;

  static Vector load(const uint8_t* bytes) {
    Vector vector;
    std::memcpy(&vector, bytes, sizeof vector);
    return vector;
  }
  // All ones where a byte has these bits of the ones of `mask`.
  static Vector has_bits(Vector bytes, unsigned mask, unsigned bits) {
    return reinterpret_cast<Vector>((bytes & static_cast<uint8_t>(mask)) == static_cast<uint8_t>(bits));
  }
  // Where a number begins that has so many bytes, and of these the one with this kind.
  template <unsigned kLength>
  static Vector has_length(Vector bytes) {
    return has_bits(bytes, (1u << kLength) - 1, (1u << (kLength - 1)) - 1);
  }
  template <unsigned kLength>
  static Vector has_kind(Vector bytes, RecordKind kind) {
    return has_bits(bytes, (4u << kLength) - 1, kind << kLength | ((1u << (kLength - 1)) - 1));
  }
  static Vector is_of_kind(Vector bytes, RecordKind kind) {
    return has_kind<1>(bytes, kind) | has_kind<2>(bytes, kind) | has_kind<3>(bytes, kind);
  }

  std::array<uint8_t, kBytes + 16> numbers_;  // the same of a number
  std::array<uint8_t, kBytes> records_;
};

inline RecordLengths::RecordLengths(const uint8_t* bytes) {
  for (size_t i = 0; i < numbers_.size(); i += sizeof(Vector)) {
    Vector part = load(bytes + i);
    Vector lengths = (has_length<1>(part) & 1) | (has_length<2>(part) & 2) | (has_length<3>(part) & 3);
    std::memcpy(&numbers_[i], &lengths, sizeof lengths);
  }
  for (size_t i = 0; i < kBytes; i += sizeof(Vector)) {
    Vector part = load(bytes + i);
    Vector id = (has_length<1>(part) & load(&numbers_[i + 1])) | (has_length<2>(part) & load(&numbers_[i + 2])) |
                (has_length<3>(part) & load(&numbers_[i + 3]));
    Vector is_begin = is_of_kind(part, kBegin);
    Vector is_none = is_of_kind(part, kOther) | (is_begin & reinterpret_cast<Vector>(id == 0));
    Vector lengths = (load(&numbers_[i]) + (is_begin & id)) & ~is_none;
    std::memcpy(&records_[i], &lengths, sizeof lengths);
  }
}

}  // namespace rlscope
