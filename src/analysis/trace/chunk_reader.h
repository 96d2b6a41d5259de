// Takes the payload of a chunk, whatever it holds, through a window of bounded size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace_file.h"
#include "varint.h"

namespace rlscope {

constexpr size_t kLongestFastRecord = 2 * kMaxVarintBytes;  // a begin or an end

// How many bytes the chunks have that this program has begun to read, of all files and by all threads.
uint64_t bytes_read();

// Takes a chunk's payload through a buffer of bounded size.
class ChunkReader {
 public:
  // The record or chunk just read is wrong: reports it, and steps over the rest of its chunk where the file recovers.
  void reject(const std::string& what);

 protected:
  ChunkReader(TraceFile& file, size_t window_bytes) : file_(file), window_bytes_(window_bytes) {}

  void leave_chunk();
  // Goes to the chunk's first record; false if its checksum says that none can be used.
  bool open_payload(const ChunkPlace& place, const ChunkHeader& chunk);
  bool checksum_holds(uint32_t crc, uint32_t expected);
  void seek(uint64_t offset);
  void fill();
  uint64_t position(const uint8_t* place) const { return window_offset_ + static_cast<uint64_t>(place - window_.data()); }
  // Where the chunk goes on, with `longest_record` bytes in the window as far as the chunk has them; false at its end.
  bool reaches_record(size_t longest_record);

  TraceFile& file_;
  size_t window_bytes_;
  std::vector<uint8_t> window_;
  const uint8_t* cursor_ = nullptr;
  const uint8_t* safe_end_ = nullptr;  // before it, a begin or end record lies whole in the window
  const uint8_t* window_end_ = nullptr;
  const uint8_t* record_ = nullptr;  // the record that was read last
  uint64_t window_offset_ = 0;       // in the file
  uint64_t payload_end_ = 0;         // in the file; 0: no chunk is open
  bool chunk_is_closed_ = false;
};

}  // namespace rlscope
