// A process file's header, chunks and catalog; the file may be damaged, cut short, hostile or still growing.
#include "trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "crc32c.h"
#include "formatted.h"

namespace rlscope {
namespace {

constexpr size_t kNotesKept = 20;
constexpr uint32_t kLargestTickShift = 32;
constexpr uint64_t kLargestTicks = 1ull << 62;
constexpr int kMostTriesToLock = 1000;  // one a millisecond

const ChunkPlace& place_of(const ChunkPlace& chunk) { return chunk; }
const ChunkPlace& place_of(const DeviceChunk& chunk) { return chunk.place; }

}  // namespace

TraceFile::TraceFile(std::string path, bool recovers, Opened) : path_(std::move(path)), recovers_(recovers) {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // nobody waits for who writes into a pipe
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path_);
  try {
    read_header();
    if (!is_finished_) {
      keep_chunks_in_place();
      read_header();  // it may be finished by now
    }
  } catch (...) {
    close(fd_);
    throw;
  }
}

// What throws from here on ends an object that is whole, so that its file is closed.
TraceFile::TraceFile(std::string path, bool recovers) : TraceFile(std::move(path), recovers, Opened{}) {
  uint64_t damage_before = damage_count_;
  walk_chunks([this](const ChunkPlace& place, const ChunkHeader& chunk) {
    if (chunk.kind != ChunkKind::kFree) closed_chunks_ += chunk.flags & kChunkClosed;
    index_chunk(place, chunk);
  });
  if (damage_count_ == damage_before) check_extent();
  order_chunks();
  read_catalog();
}

FileHeader TraceFile::header_of(const std::string& path) {
  TraceFile file(path, true, Opened{});
  file.check_clock();
  return file.header_;
}

TraceFile::~TraceFile() { close(fd_); }

void TraceFile::refuse(const std::string& what) const { throw TraceDamage(path_ + " cannot be analyzed: " + what); }

void TraceFile::report_damage(uint64_t offset, const std::string& what) {
  if (recovers_ && offset < reported_bytes_) return;
  std::string sentence = path_ + " is damaged at byte " + std::to_string(offset) + ": " + what;
  if (!recovers_) throw TraceDamage(sentence + "; with --recover the rest is used");
  damage_count_++;
  if (damage_.size() < kNotesKept) damage_.push_back(sentence);
}

size_t TraceFile::read(uint64_t offset, void* buffer, size_t size) const {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(fd_, static_cast<char*>(buffer) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), path_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// A process that ends its recording moves chunks within its file, unless somebody reads it. Some file systems know no
// locks: there it moves none.
void TraceFile::keep_chunks_in_place() const {
  for (int tries = 0; tries < kMostTriesToLock && flock(fd_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; tries++) {
    usleep(1000);
  }
}

void TraceFile::read_header() {
  // Nothing can be recovered without the header, so its damage is thrown in any case.
  auto fail = [this](size_t offset, const std::string& what) {
    throw TraceDamage(path_ + " is damaged at byte " + std::to_string(offset) + ": " + what);
  };
  size_t got = read(0, &header_, sizeof header_);
  // Only now: a recording that ends meanwhile cuts its file first and then says how long it is.
  struct stat status;
  if (fstat(fd_, &status) != 0) throw std::system_error(errno, std::generic_category(), path_);
  bytes_ = static_cast<uint64_t>(status.st_size);
  if (got < sizeof kFileMagic || std::memcmp(header_.magic, kFileMagic, sizeof kFileMagic) != 0) {
    throw TraceDamage(path_ + " is not a process file: it does not start with RLSCOPE");
  }
  if (bytes_ < kFileHeaderBytes) {
    fail(bytes_, formatted("a header of %u bytes was expected, the file has %" PRIu64, kFileHeaderBytes, bytes_));
  }
  if (header_.format_version < kOldestReadableVersion || header_.format_version > kFormatVersion) {
    throw TraceDamage(path_ + " has format version " + std::to_string(header_.format_version) +
                      ", this rlscope reads versions " + std::to_string(kOldestReadableVersion) + " to " +
                      std::to_string(kFormatVersion) + "; record the run again, or analyze it with the rlscope that recorded it");
  }
  if (header_.header_bytes != kFileHeaderBytes) fail(12, formatted("header_bytes is %u, not 4096", header_.header_bytes));
  if (header_.clock != ClockKind::kTsc && header_.clock != ClockKind::kMonotonic) {
    fail(16, formatted("clock %u is unknown", static_cast<uint32_t>(header_.clock)));
  }
  if (header_.tick_shift > kLargestTickShift) fail(20, formatted("a tick_shift of %u is impossible", header_.tick_shift));
  if (header_.start_ticks > kLargestTicks) fail(32, formatted("start_ticks %" PRIu64 " is impossible", header_.start_ticks));
  if (header_.format_version < kOldestWithSummedHeaders) {  // older headers end before these
    header_.cut_stacks = header_.ended = header_.children_without_file = 0;
  }
  for (auto cell : {&FileHeader::ended, &FileHeader::children_without_file}) {
    uint64_t value = header_.*cell;
    if (value && !has_complement(value)) fail(offsetof(FileHeader, ended), formatted("0x%016" PRIx64 " is no number with its complement", value));
  }
  is_finished_ = header_.stop_ticks != 0;
  if (is_finished_) check_finished_header();
}

void TraceFile::check_finished_header() {
  bool has_checksum = header_.format_version > kOldestReadableVersion;
  FileHeader summed = header_;
  summed.header_crc32c = 0;
  uint32_t found = has_checksum ? crc32c(0, &summed, summed_header_bytes(header_.format_version)) : 0;
  if (header_.header_crc32c != found) {
    throw TraceDamage(path_ + formatted(" is damaged at byte 60: a header with the checksum 0x%08x was expected, its checksum "
                                        "is 0x%08x", header_.header_crc32c, found));
  }
  if (header_.stop_ticks < header_.start_ticks || header_.stop_ticks > kLargestTicks) {
    report_damage(40, formatted("recording stopped at %" PRIu64 " but began at %" PRIu64, header_.stop_ticks, header_.start_ticks));
    header_.stop_ticks = 0;
  } else if (has_checksum && header_.stop_ticks != header_.last_pair.ticks) {
    report_damage(40, formatted("recording stopped at %" PRIu64 ", but the clock was last read at %" PRIu64, header_.stop_ticks,
                           header_.last_pair.ticks));
    header_.stop_ticks = 0;
  }
}

// Times are made of two readings of the clock, or of one.
void TraceFile::check_clock() {
  const ClockPair& first = header_.first_pair;
  const ClockPair& last = header_.last_pair;
  bool is_one_reading = first.ticks == last.ticks && first.monotonic_ns == last.monotonic_ns;
  bool increases = first.ticks < last.ticks && first.monotonic_ns < last.monotonic_ns;
  if (header_.clock != ClockKind::kTsc || is_one_reading || increases) return;
  throw TraceDamage(path_ + formatted(" is damaged at byte 112: the clock's two readings must increase, but it went from %" PRIu64
                                      " to %" PRIu64 " in the time from %" PRIu64 " to %" PRIu64 " ns",
                                      first.ticks, last.ticks, first.monotonic_ns, last.monotonic_ns));
}

// A whole file has all its bytes and all its chunks: one that lost some need not look damaged anywhere else.
void TraceFile::check_extent() {
  if (!is_finished_ || header_.format_version == kOldestReadableVersion) return;
  if (bytes_ != header_.file_bytes) {
    report_damage(std::min(bytes_, header_.file_bytes),
                  formatted("a file of %" PRIu64 " bytes was expected, it has %" PRIu64, header_.file_bytes, bytes_));
  } else if (closed_chunks_ != header_.chunks) {
    report_damage(kFileHeaderBytes, formatted("%" PRIu64 " chunks were expected, %" PRIu64 " were found", header_.chunks,
                                         closed_chunks_));
  }
}

uint32_t TraceFile::chunk_alignment() const {
  return header_.format_version < kOldestWithSummedHeaders ? kOldChunkAlignment : kChunkAlignment;
}

uint32_t TraceFile::sum_before_payload(const ChunkPlace& place, ChunkHeader chunk) const {
  if (header_.format_version < kOldestWithSummedHeaders) return 0;
  chunk.crc32c = 0;
  uint32_t crc = crc32c(0, &chunk, sizeof chunk);
  uint8_t block[4096];
  for (uint32_t at = sizeof chunk; at < chunk.payload_offset; at += sizeof block) {
    size_t got = read(place.offset + at, block, std::min<size_t>(sizeof block, chunk.payload_offset - at));
    if (got == 0) break;
    crc = crc32c(crc, block, got);
  }
  return crc;
}

std::string TraceFile::check_chunk(const ChunkHeader& chunk) const {
  if (chunk.magic != kChunkMagic) {
    return formatted("a chunk (0x%08x) was expected, 0x%08x was found", kChunkMagic, chunk.magic);
  }
  if (chunk.chunk_bytes == 0 || chunk.chunk_bytes % chunk_alignment() != 0) {
    return formatted("a chunk of %u bytes is not a multiple of %u", chunk.chunk_bytes, chunk_alignment());
  }
  if (chunk.kind < ChunkKind::kEvents || chunk.kind > ChunkKind::kStacks) {
    return formatted("chunk kind %u is unknown", static_cast<unsigned>(chunk.kind));
  }
  uint64_t frames_end = sizeof chunk + uint64_t{chunk.depth} * sizeof(uint32_t);
  if (chunk.payload_offset < frames_end || chunk.payload_offset > chunk.chunk_bytes) {
    return formatted("a payload at %u does not fit a chunk of %u bytes with %u open frames", chunk.payload_offset,
                chunk.chunk_bytes, chunk.depth);
  }
  bool must_be_closed = is_finished_ && header_.format_version >= kOldestWithSummedHeaders && chunk.kind != ChunkKind::kFree;
  if (must_be_closed && !(chunk.flags & kChunkClosed)) return "a file that is finished has a chunk that is not closed";
  if ((chunk.flags & kChunkClosed) && chunk.payload_bytes > chunk.chunk_bytes - chunk.payload_offset) {
    return formatted("a payload of %u bytes does not fit a chunk of %u", chunk.payload_bytes, chunk.chunk_bytes);
  }
  bool is_beside = chunk.kind == ChunkKind::kDevice || chunk.kind == ChunkKind::kStacks;
  bool has_time = chunk.kind == ChunkKind::kEvents || is_beside;
  if (has_time && chunk.base_ticks > kLargestTicks) {
    return formatted("base_ticks %" PRIu64 " is impossible", chunk.base_ticks);
  }
  if (is_beside && chunk.depth != 0) {
    return formatted("a chunk of %s has %u open frames", chunk.kind == ChunkKind::kDevice ? "device work" : "stacks", chunk.depth);
  }
  return {};
}

// Where a chunk may begin, from an offset on.
uint64_t TraceFile::next_magic(uint64_t offset) const {
  std::vector<uint8_t> block(1 << 16);
  for (size_t got; offset < bytes_ && (got = read(offset, block.data(), block.size())) > 0; offset += block.size()) {
    for (size_t at = 0; at + sizeof kChunkMagic <= got; at += chunk_alignment()) {
      if (std::memcmp(block.data() + at, &kChunkMagic, sizeof kChunkMagic) == 0) return offset + at;
    }
  }
  return bytes_;
}

template <typename OnChunk>
void TraceFile::walk_chunks(OnChunk on_chunk) {
  bool is_lost = false;  // damage was reported, the next chunk is being looked for
  // A chunk that claims more than the file has ends where the next one starts: no byte is read as part of two chunks.
  std::optional<std::pair<ChunkPlace, ChunkHeader>> cut;
  auto end_cut_chunk = [&](uint64_t end) {
    if (!cut) return;
    cut->first.end = end;
    on_chunk(cut->first, cut->second);
    cut.reset();
  };
  for (uint64_t offset = kFileHeaderBytes; offset < bytes_;) {
    ChunkHeader chunk{};
    read(offset, &chunk, sizeof chunk);
    if (chunk.magic == 0 && !is_lost && !is_finished_) break;  // where the recorder has not written yet
    std::string wrong = check_chunk(chunk);
    if (!wrong.empty()) {
      if (!is_lost) report_damage(offset, wrong);
      is_lost = true;
      offset = next_magic(offset + chunk_alignment());
      continue;
    }
    end_cut_chunk(offset);
    ChunkPlace place{offset, offset + chunk.chunk_bytes, chunk.base_ticks, chunk.sequence, chunk.switch_ticks};
    is_lost = place.end > bytes_;
    if (is_lost) {
      report_damage(bytes_, formatted("the file ends inside the chunk of %u bytes at %" PRIu64, chunk.chunk_bytes, offset));
      cut.emplace(place, chunk);
      offset = next_magic(offset + chunk_alignment());
    } else {
      on_chunk(place, chunk);
      offset = place.end;
    }
  }
  end_cut_chunk(bytes_);
}

void TraceFile::index_chunk(const ChunkPlace& place, const ChunkHeader& chunk) {
  if (chunk.kind == ChunkKind::kFree || place.end - place.offset < chunk.payload_offset) return;
  if (chunk.kind == ChunkKind::kCatalog) {
    catalog_.push_back(place);
    return;
  }
  if (chunk.kind == ChunkKind::kDevice) {
    device_chunks_.push_back({place, chunk.stream});
    return;
  }
  if (chunk.kind == ChunkKind::kStacks) {
    stack_chunks_.push_back(place);
    return;
  }
  StreamIndex& stream = streams_.try_emplace(chunk.stream, StreamIndex{chunk.stream, chunk.thread_id, 0, {}}).first->second;
  stream.chunks.push_back(place);
}

// A process that was killed while it moved a chunk leaves it twice, the same with its header and all.
bool TraceFile::is_copy(const ChunkPlace& place, const ChunkPlace& of) const {
  if (is_finished_ || place.sequence != of.sequence) return false;
  ChunkHeader chunk{};
  ChunkHeader original{};
  read(place.offset, &chunk, sizeof chunk);
  read(of.offset, &original, sizeof original);
  return (chunk.flags & kChunkClosed) && std::memcmp(&chunk, &original, sizeof chunk) == 0;
}

// Of chunks in the order of their sequence.
template <typename Chunk>
void TraceFile::drop_copies(std::vector<Chunk>& chunks) const {
  auto is_same = [this](const Chunk& a, const Chunk& b) { return is_copy(place_of(b), place_of(a)); };
  chunks.erase(std::unique(chunks.begin(), chunks.end(), is_same), chunks.end());
}

void TraceFile::order_chunks() {
  auto by_sequence = [](const ChunkPlace& a, const ChunkPlace& b) { return a.sequence < b.sequence; };
  std::stable_sort(stack_chunks_.begin(), stack_chunks_.end(), by_sequence);
  drop_copies(stack_chunks_);
  for (auto& [number, stream] : streams_) {
    std::stable_sort(stream.chunks.begin(), stream.chunks.end(), by_sequence);
    drop_copies(stream.chunks);
    for (const ChunkPlace& place : stream.chunks) chunk_change_ticks_ += place.switch_ticks;
    stream.first_ticks = stream.chunks[0].base_ticks;
  }
  auto by_queue = [](const DeviceChunk& a, const DeviceChunk& b) {
    return std::tie(a.stream, a.place.sequence, a.place.offset) < std::tie(b.stream, b.place.sequence, b.place.offset);
  };
  std::sort(device_chunks_.begin(), device_chunks_.end(), by_queue);
  drop_copies(device_chunks_);
  std::vector<DeviceChunk> sound;
  uint32_t expected = 0;
  for (const DeviceChunk& chunk : device_chunks_) {
    if (!sound.empty() && sound.back().stream != chunk.stream) expected = 0;
    if (chunk.place.sequence != expected) {
      report_damage(chunk.place.offset, formatted("chunk %u of queue %u was expected, chunk %u was found", expected,
                                             chunk.stream, chunk.place.sequence));
      if (chunk.place.sequence < expected) continue;
    }
    expected = chunk.place.sequence + 1;
    sound.push_back(chunk);
  }
  std::sort(sound.begin(), sound.end(), [](const DeviceChunk& a, const DeviceChunk& b) {
    return std::tie(a.place.base_ticks, a.stream, a.place.sequence) <
           std::tie(b.place.base_ticks, b.stream, b.place.sequence);
  });
  device_chunks_ = std::move(sound);
}

void TraceFile::start_at(uint64_t ticks) {
  for (auto& [number, stream] : streams_) {
    const std::vector<ChunkPlace>& chunks = stream.chunks;
    // Strictly before: the chunk before one that begins at `ticks` may end with records of this tick.
    while (stream.first_chunk + 1 < chunks.size() && chunks[stream.first_chunk + 1].base_ticks < ticks) stream.first_chunk++;
    stream.first_ticks = chunks[stream.first_chunk].base_ticks;
  }
  auto is_before = [&](const ChunkPlace& place) { return place.base_ticks < ticks; };
  auto later = std::find_if_not(stack_chunks_.begin(), stack_chunks_.end(), is_before);
  if (later != stack_chunks_.begin()) stack_chunks_.erase(stack_chunks_.begin(), later - 1);
  std::map<uint32_t, uint32_t> last_before;  // by queue, the sequence of a chunk
  for (const DeviceChunk& chunk : device_chunks_) {
    if (chunk.place.base_ticks >= ticks) continue;
    uint32_t& sequence = last_before[chunk.stream];
    sequence = std::max(sequence, chunk.place.sequence);
  }
  auto lies_before = [&](const DeviceChunk& chunk) { return uint64_t{chunk.place.sequence} + 1 < last_before[chunk.stream]; };
  device_chunks_.erase(std::remove_if(device_chunks_.begin(), device_chunks_.end(), lies_before), device_chunks_.end());
}

bool TraceFile::start_earlier(uint32_t number) {
  StreamIndex& stream = streams_.at(number);
  if (stream.first_chunk == 0) return false;
  stream.first_chunk /= 2;  // not one by one: each time all is read again
  stream.first_ticks = stream.chunks[stream.first_chunk].base_ticks;
  return true;
}

const QueueEntry* TraceFile::queue(uint32_t stream) const {
  auto found = queues_.find(stream);
  return found == queues_.end() ? nullptr : &found->second;
}

void TraceFile::reload_catalog() {
  struct stat status;
  if (fstat(fd_, &status) != 0) throw std::system_error(errno, std::generic_category(), path_);
  reported_bytes_ = bytes_;
  bytes_ = std::max(bytes_, static_cast<uint64_t>(status.st_size));
  catalog_.clear();
  walk_chunks([this](const ChunkPlace& place, const ChunkHeader& chunk) {
    if (chunk.kind == ChunkKind::kCatalog) index_chunk(place, chunk);
  });
  read_catalog();
  reported_bytes_ = 0;
}

void TraceFile::read_catalog() {
  properties_.clear();
  std::stable_sort(catalog_.begin(), catalog_.end(),
                   [](const ChunkPlace& a, const ChunkPlace& b) { return a.sequence < b.sequence; });
  drop_copies(catalog_);
  uint32_t expected = 0;
  for (const ChunkPlace& place : catalog_) {
    if (place.sequence != expected) {
      report_damage(place.offset, formatted("chunk %u of the catalog was expected, chunk %u was found", expected, place.sequence));
    }
    expected = place.sequence + 1;
    read_catalog_chunk(place);
  }
}

}  // namespace rlscope
