// Decodes one stream's chunks into batches of records.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "chunk_reader.h"
#include "record_batch.h"
#include "record_lengths.h"

namespace rlscope {

// Its buffer exists from the first record to the last. Of the file it uses only what does not change, so that another
// thread may report damage and read the catalog meanwhile.
class RecordDecoder : private ChunkReader {
 public:
  // From the chunk at this place on.
  RecordDecoder(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk);

  // Replaces what is in the batch.
  void fill(RecordBatch& batch);

 private:
  void decode_quickly(RecordBatch& batch);
  Record* decode_block(const RecordLengths& lengths, const uint8_t* block_end, Record* record, const Record* end);
  void decode_slowly(RecordBatch& batch);
  void open_chunk(RecordBatch& batch);
  std::string open(const ChunkPlace& place, ChunkHeader& chunk, std::vector<uint32_t>& open_frames);
  void leave(RecordBatch& batch, std::string what);
  uint32_t offset_in_chunk() const { return static_cast<uint32_t>(position(record_) - payload_start_); }

  const StreamIndex& index_;
  size_t next_chunk_ = 0;
  uint32_t next_sequence_ = 0;
  uint64_t payload_start_ = 0;  // in the file
  uint64_t ticks_ = 0;
  uint32_t last_begun_ = 0;  // in this chunk, of which the expected names are too
  std::array<uint32_t, kExpectedNames> expected_names_{};
};

}  // namespace rlscope
