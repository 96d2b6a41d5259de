// Teaches the fuzzer the format: it changes records, headers and the order of chunks, and mends the checksums.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "crc32c.h"
#include "trace_format.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace rlscope;
using Random = std::minstd_rand;

// A file header, or a chunk with all its pages; what lies behind a damaged chunk is one piece each page.
using Piece = std::string;

std::vector<Piece> pieces_of(const uint8_t* data, size_t size) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < size;) {
    size_t length = kChunkAlignment;
    ChunkHeader chunk;
    if (at > 0 && size - at >= sizeof chunk) {
      std::memcpy(&chunk, data + at, sizeof chunk);
      if (chunk.magic == kChunkMagic && chunk.chunk_bytes > 0 && chunk.chunk_bytes % kChunkAlignment == 0) {
        length = chunk.chunk_bytes;
      }
    }
    length = std::min(length, size - at);
    pieces.emplace_back(reinterpret_cast<const char*>(data) + at, length);
    at += length;
  }
  return pieces;
}

size_t join(const std::vector<Piece>& pieces, uint8_t* data, size_t max_size) {
  size_t size = 0;
  for (const Piece& piece : pieces) {
    size_t length = std::min(piece.size(), max_size - size);
    std::memcpy(data + size, piece.data(), length);
    size += length;
  }
  return size;
}

// Changes `size` bytes from `at`, which stay as many or grow and shrink within `room`. Returns their new number.
size_t mutate_range(Piece& piece, size_t at, size_t size, size_t room) {
  std::string range = piece.substr(at, size);
  range.resize(std::max(room, size));
  size_t changed = LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(range.data()), size, room);
  range.resize(std::max(changed, size));
  std::fill(range.begin() + static_cast<std::ptrdiff_t>(changed), range.end(), 0);
  piece.replace(at, range.size(), range);
  return changed;
}

// Grows the payload by whole records or shrinks it, and mends its length and its checksum.
void mutate_payload(Piece& piece, Random& random) {
  ChunkHeader chunk;
  std::memcpy(&chunk, piece.data(), sizeof chunk);
  size_t start = std::min<size_t>(chunk.payload_offset, piece.size());
  size_t used = piece.size();
  if (chunk.flags & kChunkClosed) used = std::min(used, start + chunk.payload_bytes);
  while (used > start && piece[used - 1] == 0) used--;
  size_t changed = mutate_range(piece, start, used - start, std::min(piece.size() - start, used - start + 64));
  if ((chunk.flags & kChunkClosed) && random() % 16) {
    chunk.payload_bytes = static_cast<uint32_t>(changed);
    std::memcpy(piece.data(), &chunk, sizeof chunk);
  }
}

void mend_checksum(Piece& piece) {
  ChunkHeader chunk;
  if (piece.size() < sizeof chunk) return;
  std::memcpy(&chunk, piece.data(), sizeof chunk);
  if (chunk.magic != kChunkMagic || chunk.payload_offset > piece.size()) return;
  if (chunk.payload_bytes > piece.size() - chunk.payload_offset) return;
  chunk.crc32c = 0;
  std::memcpy(piece.data(), &chunk, sizeof chunk);
  chunk.crc32c = crc32c(0, piece.data(), uint64_t{chunk.payload_offset} + chunk.payload_bytes);
  std::memcpy(piece.data(), &chunk, sizeof chunk);
}

// What the header of a finished file says of the pieces behind it, of itself and of when it stopped.
void mend_header(std::vector<Piece>& pieces) {
  FileHeader header;
  if (pieces[0].size() < kFileHeaderBytes) return;
  std::memcpy(&header, pieces[0].data(), sizeof header);
  if (header.format_version != kFormatVersion || header.stop_ticks == 0) return;
  header.last_pair.ticks = header.stop_ticks;
  header.file_bytes = pieces[0].size();
  header.chunks = 0;
  for (size_t i = 1; i < pieces.size(); i++) {
    ChunkHeader chunk{};
    std::memcpy(&chunk, pieces[i].data(), std::min(pieces[i].size(), sizeof chunk));
    header.file_bytes += pieces[i].size();
    header.chunks += chunk.kind != ChunkKind::kFree && (chunk.flags & kChunkClosed);
  }
  header.header_crc32c = 0;
  header.header_crc32c = crc32c(0, &header, summed_header_bytes(kFormatVersion));
  std::memcpy(pieces[0].data(), &header, sizeof header);
}

void mutate_piece(Piece& piece, bool is_file_header, Random& random) {
  size_t head = std::min(piece.size(), is_file_header ? sizeof(FileHeader) : sizeof(ChunkHeader));
  ChunkHeader chunk{};
  if (!is_file_header && piece.size() >= sizeof chunk) std::memcpy(&chunk, piece.data(), sizeof chunk);
  if (chunk.magic == kChunkMagic && random() % 4) {
    size_t frames = std::min<size_t>(chunk.payload_offset, piece.size());
    if (frames > head && random() % 4 == 0) mutate_range(piece, head, frames - head, frames - head);
    else mutate_payload(piece, random);
    return;
  }
  if (!is_file_header && piece.size() >= sizeof chunk && random() % 4 == 0) {
    chunk.flags ^= kChunkClosed;
    std::memcpy(piece.data(), &chunk, sizeof chunk);
    return;
  }
  if (head > 0) mutate_range(piece, 0, head, head);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  if (size < kFileHeaderBytes + sizeof(ChunkHeader) || random() % 32 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::vector<Piece> pieces = pieces_of(data, size);
  for (unsigned edits = random() % 3 + 1; edits > 0; edits--) {
    size_t at = random() % pieces.size();
    size_t other = 1 + random() % (pieces.size() - 1);
    switch (random() % 16) {
      case 0:  // once more
        if (at > 0) pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(other), Piece(pieces[at]));
        break;
      case 1:
        if (at > 0 && pieces.size() > 2) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        if (at > 0) pieces[at].swap(pieces[other]);
        break;
      default:
        mutate_piece(pieces[at], at == 0, random);
    }
  }
  if (random() % 8) {
    for (size_t i = 1; i < pieces.size(); i++) mend_checksum(pieces[i]);
  }
  if (random() % 8) mend_header(pieces);
  return join(pieces, data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other, size_t other_size,
                                            uint8_t* out, size_t max_size, unsigned seed) {
  Random random(seed);
  std::vector<Piece> pieces = pieces_of(data, size);
  for (Piece& piece : pieces_of(other, other_size)) {
    size_t at = random() % (pieces.size() + 1);
    if (at > 0 && random() % 2) pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), std::move(piece));
  }
  return join(pieces, out, max_size);
}
