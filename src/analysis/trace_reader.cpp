// Reading a process file that may be damaged, cut short, hostile or still growing.
#include "trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "crc32c.h"

namespace rlscope {
namespace {

constexpr size_t kMostNumbers = 5;  // of a record
constexpr size_t kLongestRecord = kMostNumbers * kMaxVarintBytes;
constexpr size_t kLongestFastRecord = 2 * kMaxVarintBytes;
constexpr uint64_t kSmallestWindow = 4096;  // unless a smaller one is asked for
constexpr size_t kSlack = kMaxVarintBytes;  // decode_varint reads a whole word
constexpr size_t kNotesKept = 20;
constexpr uint32_t kLargestTickShift = 32;
constexpr uint64_t kLargestTicks = 1ull << 62;
constexpr uint64_t kSmallestNameEntry = sizeof(uint32_t) + sizeof(NameEntry);
constexpr uint64_t kLaunchEntryBytes = sizeof(uint32_t) + sizeof(LaunchEntry);
constexpr uint64_t kIdsAlwaysAllowed = 1 << 16;

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

// How many numbers a record has, by the first ones; 0: there is no such record.
size_t numbers_in_record(const uint64_t* numbers, size_t known) {
  uint64_t kind = numbers[0] & 3;
  if (kind != kOther) return kind == kBegin ? 2 : kind == kEnd ? 1 : 0;
  if (known < 2) return 2;
  return numbers[1] == kProgress || numbers[1] == kTask ? 5 : numbers[1] == kBlocked ? 4 : 0;
}

}  // namespace

TraceFile::TraceFile(std::string path, bool recovers) : path_(std::move(path)), recovers_(recovers) {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // nobody waits for who writes into a pipe
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path_);
  try {
    read_header();
    uint64_t damage_before = damage_count_;
    walk_chunks([this](const ChunkPlace& place, const ChunkHeader& chunk) {
      if (chunk.kind != ChunkKind::kFree) closed_chunks_ += chunk.flags & kChunkClosed;
      index_chunk(place, chunk);
    });
    if (damage_count_ == damage_before) check_extent();
    order_chunks();
    read_catalog();
  } catch (...) {
    close(fd_);
    throw;
  }
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
    throw TraceDamage(path_ + " is not a trace file: it does not start with RLSCOPE");
  }
  if (bytes_ < kFileHeaderBytes) {
    fail(bytes_, text("a header of %u bytes was expected, the file has %" PRIu64, kFileHeaderBytes, bytes_));
  }
  if (header_.format_version < kOldestReadableVersion || header_.format_version > kFormatVersion) {
    throw TraceDamage(path_ + " has format version " + std::to_string(header_.format_version) +
                      ", this rlscope reads versions " + std::to_string(kOldestReadableVersion) + " to " +
                      std::to_string(kFormatVersion) + "; record the run again, or analyze it with the rlscope that recorded it");
  }
  if (header_.header_bytes != kFileHeaderBytes) fail(12, text("header_bytes is %u, not 4096", header_.header_bytes));
  if (header_.clock != ClockKind::kTsc && header_.clock != ClockKind::kMonotonic) {
    fail(16, text("clock %u is unknown", static_cast<uint32_t>(header_.clock)));
  }
  if (header_.tick_shift > kLargestTickShift) fail(20, text("a tick_shift of %u is impossible", header_.tick_shift));
  if (header_.start_ticks > kLargestTicks) fail(32, text("start_ticks %" PRIu64 " is impossible", header_.start_ticks));
  is_finished_ = header_.stop_ticks != 0;
  if (is_finished_) check_finished_header();
}

void TraceFile::check_finished_header() {
  bool has_checksum = header_.format_version > kOldestReadableVersion;
  FileHeader summed = header_;
  summed.header_crc32c = 0;
  uint32_t expected = has_checksum ? crc32c(0, &summed, sizeof summed) : 0;
  if (header_.header_crc32c != expected) {
    report_damage(60, text("a header with the checksum 0x%08x was expected, its checksum is 0x%08x",
                           header_.header_crc32c, expected));
  }
  if (header_.stop_ticks < header_.start_ticks || header_.stop_ticks > kLargestTicks) {
    report_damage(40, text("recording stopped at %" PRIu64 " but began at %" PRIu64, header_.stop_ticks, header_.start_ticks));
    header_.stop_ticks = 0;
  } else if (has_checksum && header_.stop_ticks != header_.last_pair.ticks) {
    report_damage(40, text("recording stopped at %" PRIu64 ", but the clock was last read at %" PRIu64, header_.stop_ticks,
                           header_.last_pair.ticks));
    header_.stop_ticks = 0;
  }
}

// A whole file has all its bytes and all its chunks: one that lost some need not look damaged anywhere else.
void TraceFile::check_extent() {
  if (!is_finished_ || header_.format_version == kOldestReadableVersion) return;
  if (bytes_ != header_.file_bytes) {
    report_damage(std::min(bytes_, header_.file_bytes),
                  text("a file of %" PRIu64 " bytes was expected, it has %" PRIu64, header_.file_bytes, bytes_));
  } else if (closed_chunks_ != header_.chunks) {
    report_damage(kFileHeaderBytes, text("%" PRIu64 " chunks were expected, %" PRIu64 " were found", header_.chunks,
                                         closed_chunks_));
  }
}

std::string TraceFile::check_chunk(const ChunkHeader& chunk) const {
  if (chunk.magic != kChunkMagic) {
    return text("a chunk (0x%08x) was expected, 0x%08x was found", kChunkMagic, chunk.magic);
  }
  if (chunk.chunk_bytes == 0 || chunk.chunk_bytes % kChunkAlignment != 0) {
    return text("a chunk of %u bytes is not a multiple of %u", chunk.chunk_bytes, kChunkAlignment);
  }
  if (chunk.kind < ChunkKind::kEvents || chunk.kind > ChunkKind::kDevice) {
    return text("chunk kind %u is unknown", static_cast<unsigned>(chunk.kind));
  }
  uint64_t frames_end = sizeof chunk + uint64_t{chunk.depth} * sizeof(uint32_t);
  if (chunk.payload_offset < frames_end || chunk.payload_offset > chunk.chunk_bytes) {
    return text("a payload at %u does not fit a chunk of %u bytes with %u open frames", chunk.payload_offset,
                chunk.chunk_bytes, chunk.depth);
  }
  if ((chunk.flags & kChunkClosed) && chunk.payload_bytes > chunk.chunk_bytes - chunk.payload_offset) {
    return text("a payload of %u bytes does not fit a chunk of %u", chunk.payload_bytes, chunk.chunk_bytes);
  }
  bool has_time = chunk.kind == ChunkKind::kEvents || chunk.kind == ChunkKind::kDevice;
  if (has_time && chunk.base_ticks > kLargestTicks) {
    return text("base_ticks %" PRIu64 " is impossible", chunk.base_ticks);
  }
  if (chunk.kind == ChunkKind::kDevice && chunk.depth != 0) {
    return text("a chunk of device work has %u open frames", chunk.depth);
  }
  return {};
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
      offset += kChunkAlignment;
      continue;
    }
    end_cut_chunk(offset);
    ChunkPlace place{offset, offset + chunk.chunk_bytes, chunk.sequence};
    is_lost = place.end > bytes_;
    if (is_lost) {
      report_damage(bytes_, text("the file ends inside the chunk of %u bytes at %" PRIu64, chunk.chunk_bytes, offset));
      cut.emplace(place, chunk);
      offset += kChunkAlignment;
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
    device_chunks_.push_back({place, chunk.stream, chunk.base_ticks});
    return;
  }
  switch_ticks_ += chunk.switch_ticks;
  StreamIndex& stream = streams_.try_emplace(chunk.stream, StreamIndex{chunk.stream, chunk.thread_id, 0, {}}).first->second;
  stream.chunks.push_back(place);
}

void TraceFile::order_chunks() {
  for (auto& [number, stream] : streams_) {
    auto by_sequence = [](const ChunkPlace& a, const ChunkPlace& b) { return a.sequence < b.sequence; };
    std::stable_sort(stream.chunks.begin(), stream.chunks.end(), by_sequence);
    ChunkHeader first{};
    read(stream.chunks[0].offset, &first, sizeof first);
    stream.first_ticks = first.base_ticks;
  }
  auto by_queue = [](const DeviceChunk& a, const DeviceChunk& b) {
    return std::tie(a.stream, a.place.sequence, a.place.offset) < std::tie(b.stream, b.place.sequence, b.place.offset);
  };
  std::sort(device_chunks_.begin(), device_chunks_.end(), by_queue);
  std::vector<DeviceChunk> sound;
  uint32_t expected = 0;
  for (const DeviceChunk& chunk : device_chunks_) {
    if (!sound.empty() && sound.back().stream != chunk.stream) expected = 0;
    if (chunk.place.sequence != expected) {
      report_damage(chunk.place.offset, text("chunk %u of queue %u was expected, chunk %u was found", expected,
                                             chunk.stream, chunk.place.sequence));
      if (chunk.place.sequence < expected) continue;
    }
    expected = chunk.place.sequence + 1;
    sound.push_back(chunk);
  }
  std::sort(sound.begin(), sound.end(), [](const DeviceChunk& a, const DeviceChunk& b) {
    return std::tie(a.base_ticks, a.stream, a.place.sequence) < std::tie(b.base_ticks, b.stream, b.place.sequence);
  });
  device_chunks_ = std::move(sound);
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
  uint32_t expected = 0;
  for (const ChunkPlace& place : catalog_) {
    if (place.sequence != expected) {
      report_damage(place.offset, text("chunk %u of the catalog was expected, chunk %u was found", expected, place.sequence));
    }
    expected = place.sequence + 1;
    read_catalog_chunk(place);
  }
}

void TraceFile::read_catalog_chunk(const ChunkPlace& place) {
  ChunkHeader chunk{};
  read(place.offset, &chunk, sizeof chunk);
  uint64_t start = place.offset + chunk.payload_offset;
  uint64_t limit = std::min(place.offset + chunk.chunk_bytes, place.end);
  if (start > limit) return;
  std::vector<uint8_t> payload(limit - start);
  payload.resize(read(start, payload.data(), payload.size()));
  if (chunk.flags & kChunkClosed) {
    if (payload.size() > chunk.payload_bytes) payload.resize(chunk.payload_bytes);
    if (crc32c(0, payload.data(), payload.size()) != chunk.payload_crc32c) {
      // Its entries are read all the same: each carries its own length, and without names nothing can be shown.
      report_damage(place.offset, "the checksum of the catalog does not match");
    }
  }
  for (size_t at = 0; at + sizeof(uint32_t) <= payload.size();) {
    uint32_t head;
    std::memcpy(&head, payload.data() + at, sizeof head);
    if (head == 0) return;
    size_t size = head >> 8;
    auto type = static_cast<EntryType>(head & 0xFF);
    if (size < 2 * sizeof(uint32_t) || size % sizeof(uint32_t) != 0 || size > payload.size() - at) {
      report_damage(start + at, text("a catalog entry of %zu bytes does not fit", size));
      return;
    }
    const uint8_t* entry = payload.data() + at + sizeof head;
    size_t entry_bytes = size - sizeof head;
    switch (type) {
      case EntryType::kName: read_name(start + at, entry, entry_bytes); break;
      case EntryType::kProperties: read_properties(start + at, entry, entry_bytes); break;
      case EntryType::kQueue: read_queue(start + at, entry, entry_bytes); break;
      case EntryType::kLaunch: read_launch(start + at, entry, entry_bytes); break;
      default: report_damage(start + at, text("catalog entry type %u is unknown", head & 0xFF));
    }
    at += size;
  }
}

void TraceFile::read_properties(uint64_t offset, const uint8_t* entry, size_t size) {
  uint32_t length;
  std::memcpy(&length, entry, sizeof length);
  if (length > size - sizeof length) {
    report_damage(offset, text("properties of %u bytes do not fit an entry of %zu", length, size));
  } else {
    properties_.emplace_back(reinterpret_cast<const char*>(entry + sizeof length), length);
  }
}

void TraceFile::read_queue(uint64_t offset, const uint8_t* entry, size_t size) {
  QueueEntry queue{};
  if (size < sizeof queue) {
    report_damage(offset, text("a queue's entry of %zu bytes was expected, %zu were found", sizeof queue, size));
    return;
  }
  std::memcpy(&queue, entry, sizeof queue);
  const QueueEntry& known = queues_.try_emplace(queue.stream, queue).first->second;
  if (std::memcmp(&known, &queue, sizeof queue) != 0) report_damage(offset, text("stream %u is two queues", queue.stream));
}

void TraceFile::read_launch(uint64_t offset, const uint8_t* entry, size_t size) {
  LaunchEntry launch{};
  if (size >= sizeof launch) std::memcpy(&launch, entry, sizeof launch);
  bool is_sound = launch.id != 0 && launch.id < kIdsAlwaysAllowed + bytes_ / kLaunchEntryBytes &&
                  launch.stage <= Stage::kBackpropagation &&
                  (launch.operation == 0 ? launch.stage == Stage::kNone : is_operation(launch.operation));
  if (!is_sound) {
    report_damage(offset, text("the launch with id %u, operation %u and stage %u is impossible", launch.id,
                               launch.operation, static_cast<unsigned>(launch.stage)));
    return;
  }
  if (launch.id >= launches_.size()) launches_.resize(launch.id + 1);
  LaunchEntry& known = launches_[launch.id];
  if (known.id != 0 && std::memcmp(&known, &launch, sizeof launch) != 0) {
    report_damage(offset, text("id %u is two launches", launch.id));
    return;
  }
  known = launch;
}

void TraceFile::read_name(uint64_t offset, const uint8_t* entry, size_t size) {
  NameEntry fixed{};
  if (size >= sizeof fixed) std::memcpy(&fixed, entry, sizeof fixed);
  bool is_sound = size >= sizeof fixed && fixed.name_bytes <= size - sizeof fixed && fixed.id != 0 &&
                  fixed.id < kIdsAlwaysAllowed + bytes_ / kSmallestNameEntry && fixed.kind >= NameKind::kOperation &&
                  fixed.kind <= NameKind::kDeviceWork && fixed.category <= Category::kCudaWait;
  if (!is_sound) {
    report_damage(offset, text("the name with id %u, kind %u, category %u and %u bytes is impossible", fixed.id,
                               static_cast<unsigned>(fixed.kind), static_cast<unsigned>(fixed.category), fixed.name_bytes));
    return;
  }
  if (fixed.id >= names_.size()) names_.resize(fixed.id + 1);
  Name& name = names_[fixed.id];
  std::string text_of_name(reinterpret_cast<const char*>(entry + sizeof fixed), fixed.name_bytes);
  if (name.kind != NameKind{} && (name.kind != fixed.kind || name.category != fixed.category || name.text != text_of_name)) {
    report_damage(offset, text("id %u names two things", fixed.id));
    return;
  }
  name = {fixed.kind, fixed.category, std::move(text_of_name)};
}

void ChunkReader::reject(const std::string& what) {
  file_.report_damage(position(record_), what);
  payload_end_ = 0;
  cursor_ = safe_end_ = window_end_ = window_.data();
}

void ChunkReader::seek(uint64_t offset) {
  if (window_.empty()) window_.resize(window_bytes_ + kSlack);
  window_offset_ = offset;
  cursor_ = safe_end_ = window_end_ = window_.data();
}

// Moves what is left to the front of the window and reads on, at most to the payload's end.
void ChunkReader::fill() {
  auto kept = static_cast<size_t>(window_end_ - cursor_);
  window_offset_ = position(cursor_);
  std::memmove(window_.data(), cursor_, kept);
  uint64_t wanted = std::min<uint64_t>(window_bytes_ - kept, payload_end_ - window_offset_ - kept);
  size_t got = file_.read(window_offset_ + kept, window_.data() + kept, wanted);
  if (got < wanted) payload_end_ = window_offset_ + kept + got;  // the file was cut while it was read
  cursor_ = window_.data();
  window_end_ = cursor_ + kept + got;
  std::memset(window_.data() + kept + got, 0, kSlack);
  safe_end_ = kept + got >= kLongestFastRecord ? window_end_ - (kLongestFastRecord - 1) : cursor_;
}

// Before any record is used, so that a damaged chunk contributes nothing.
bool ChunkReader::checksum_holds(uint32_t expected) {
  uint64_t start = window_offset_;
  uint32_t crc = 0;
  do {
    cursor_ = window_end_;
    fill();
    crc = crc32c(crc, cursor_, static_cast<size_t>(window_end_ - cursor_));
  } while (position(window_end_) < payload_end_);
  if (crc != expected) return false;
  if (window_offset_ != start) seek(start);
  return true;
}

bool ChunkReader::open_payload(const ChunkPlace& place, const ChunkHeader& chunk) {
  uint64_t start = place.offset + chunk.payload_offset;
  uint64_t end = place.offset + chunk.chunk_bytes;
  if (chunk.flags & kChunkClosed) end = start + chunk.payload_bytes;
  // In a file that was cut short the checksum of the last chunk says nothing: its records are read up to the cut.
  chunk_is_closed_ = (chunk.flags & kChunkClosed) && end <= place.end;
  payload_end_ = std::min(end, place.end);
  seek(start);
  if (chunk_is_closed_ && !checksum_holds(chunk.payload_crc32c)) return false;
  record_ = cursor_;
  return true;
}

bool ChunkReader::reaches_record(size_t longest_record) {
  if (static_cast<size_t>(window_end_ - cursor_) < longest_record && position(window_end_) < payload_end_) fill();
  if (cursor_ == window_end_ || (*cursor_ == 0 && !chunk_is_closed_)) {
    payload_end_ = 0;
    safe_end_ = cursor_;
    return false;
  }
  record_ = cursor_;
  return true;
}

StreamReader::StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes)
    : ChunkReader(file, window_bytes), index_(index), ticks_(index.first_ticks) {
  uint64_t largest = kSmallestWindow;
  for (const ChunkPlace& place : index.chunks) largest = std::max(largest, place.end - place.offset);
  window_bytes_ = std::min<uint64_t>(window_bytes, largest);
}

// Goes to the next chunk that can be read; false when there is none.
bool StreamReader::open_chunk() {
  while (next_chunk_ < index_.chunks.size()) {
    const ChunkPlace& place = index_.chunks[next_chunk_++];
    seek(place.offset);
    // The header again, not the one that was indexed: since then the chunk may have been closed.
    ChunkHeader chunk{};
    file_.read(place.offset, &chunk, sizeof chunk);
    std::string wrong = file_.check_chunk(chunk);
    if (wrong.empty() && chunk.payload_offset > place.end - place.offset) wrong = "the file ends inside the open frames";
    if (wrong.empty() && place.sequence != next_sequence_) {
      file_.report_damage(place.offset, text("chunk %u of thread %u was expected, chunk %u was found", next_sequence_,
                                             index_.stream, place.sequence));
      if (place.sequence < next_sequence_) continue;
    }
    next_sequence_ = place.sequence + 1;
    if (!wrong.empty()) {
      file_.report_damage(place.offset, wrong);
      continue;
    }
    open_frames_.resize(chunk.depth);
    size_t frame_bytes = chunk.depth * sizeof(uint32_t);
    if (frame_bytes && file_.read(place.offset + sizeof chunk, open_frames_.data(), frame_bytes) < frame_bytes) {
      file_.report_damage(place.offset, "the file ends inside the open frames");
      continue;
    }
    if (!open_payload(place, chunk)) {
      file_.report_damage(place.offset, text("the checksum of chunk %u of thread %u does not match", place.sequence,
                                             index_.stream));
      continue;
    }
    ticks_before_chunk_ = ticks_;
    ticks_ = chunk.base_ticks;
    switch_ticks_ = chunk.switch_ticks;
    return true;
  }
  return false;
}

// A record of another kind than begin and end, from its numbers. An empty text, or what is wrong with it.
std::string StreamReader::read_other(const uint64_t* numbers) {
  uint64_t delta = numbers[0] >> 2;
  if (numbers[1] == kProgress) {
    if (numbers[2] > 2) return text("a progress record has the flags %" PRIu64, numbers[2] - 1);
    type_ = RecordType::kProgress;
    progress_ = {numbers[2] == 2, numbers[3] - 1, numbers[4] - 1};
    return {};
  }
  if (numbers[1] == kTask) {
    type_ = RecordType::kTask;
    task_ = {static_cast<uint32_t>(std::min(numbers[2] - 1, uint64_t{UINT32_MAX})), numbers[3] - 1, numbers[4] - 1};
    return {};
  }
  type_ = RecordType::kBlocked;
  blocked_gap_ = {ticks_, delta, numbers[2] - 1, numbers[3] - 1};
  bool fits = blocked_gap_.helped_ticks <= blocked_gap_.blocked_ticks && blocked_gap_.blocked_ticks <= delta;
  if (fits) return {};
  return text("a thread cannot be blocked for %" PRIu64 " of %" PRIu64 " ticks and be helped for %" PRIu64,
              blocked_gap_.blocked_ticks, delta, blocked_gap_.helped_ticks);
}

bool StreamReader::next_slowly() {
  for (;;) {
    if (payload_end_ == 0) {
      bool has_chunk = open_chunk();
      type_ = has_chunk ? RecordType::kChunkStart : RecordType::kFinished;
      return has_chunk;
    }
    if (!reaches_record(kLongestRecord)) continue;
    const uint8_t* cursor = cursor_;
    const uint8_t* behind_head = cursor_;
    uint64_t numbers[kMostNumbers] = {};
    size_t wanted = 1;
    for (size_t i = 0; i < wanted; i++) {
      bool is_sound = cursor < window_end_ && (numbers[i] = decode_varint(cursor)) != 0 && cursor <= window_end_;
      if (i == 0) behind_head = cursor;
      wanted = is_sound ? numbers_in_record(numbers, i + 1) : 0;
    }
    if (wanted == 0) {
      reject(text("no record starts with byte 0x%02x here", *cursor_));
      continue;
    }
    if ((numbers[0] & 3) == kOther) {
      std::string wrong = read_other(numbers);
      if (!wrong.empty()) {
        reject(wrong);
        continue;
      }
      cursor_ = cursor;
    } else {
      type_ = static_cast<RecordType>(numbers[0] & 3);
      cursor_ = behind_head;  // take_id() goes on from here
    }
    ticks_ += numbers[0] >> 2;
    return true;
  }
}

}  // namespace rlscope
