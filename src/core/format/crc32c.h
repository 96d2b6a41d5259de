// CRC-32C (Castagnoli): the checksum of a closed chunk's payload.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rlscope {

// The CRC-32C of `size` bytes, continued from `crc` (0 to start), as in RFC 3720, appendix B.4.
uint32_t crc32c(uint32_t crc, const void* data, size_t size);

}  // namespace rlscope
