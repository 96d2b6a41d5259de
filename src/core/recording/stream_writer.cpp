// The cold half of the stream writer: chunk changes, misnested operations, closing.
#include "stream_writer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "coded_record.h"
#include "name_facts.h"
#include "requests.h"

namespace rlscope {
namespace {

// Small first, so that a thread with ten records costs little; large later, so that a busy one changes once a second.
constexpr uint32_t kFirstChunkBytes = 16 << 10;
constexpr uint32_t kLargestChunkBytes = 1 << 20;
constexpr uint32_t kChunkGrowth = 4;
constexpr size_t kStackBytes = StreamWriter::kMaxDepth * sizeof(StreamWriter::Frame);
constexpr size_t kPageBytes = 4096;

// A thread that asks for nothing else looks as often for requests as one that runs without a break.
uint64_t next_look(uint64_t now) {
  return Requests::are_mapped() ? now + BlockedMeter::kLongestTicks : ~uint64_t{0};
}

}  // namespace

std::atomic<uint32_t> StreamWriter::amplification{1};
std::atomic<bool> StreamWriter::measures_waits{true};
std::atomic<void (*)()> StreamWriter::at_next_crossing{nullptr};
std::atomic<void (*)()> StreamWriter::at_each_look{nullptr};

void* StreamWriter::operator new(size_t) {
  constexpr size_t kWipedBytes = offsetof(StreamWriter, last_ticks_);
  static_assert(sizeof(StreamWriter) - kWipedBytes <= kPageBytes);
  void* pages = mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  madvise(pages, kPageBytes, MADV_WIPEONFORK);
  return static_cast<uint8_t*>(pages) + kPageBytes - kWipedBytes;
}

void StreamWriter::operator delete(void* writer) {
  auto address = reinterpret_cast<uintptr_t>(writer);
  munmap(reinterpret_cast<void*>(address - address % kPageBytes), 2 * kPageBytes);
}

StreamWriter::StreamWriter(uint64_t thread_id, JoinRecording join)
    : chunk_bytes_(kFirstChunkBytes), thread_id_(thread_id), meter_(thread_id), join_(join) {
  void* frames =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (frames == MAP_FAILED) {
    state_ = WriterState::kClosed;
    return;
  }
  frames_ = static_cast<Frame*>(frames);
  last_ticks_ = now_ticks();
  if (!next_chunk()) state_ = WriterState::kClosed;
}

// Counts a record that is not written. False, so that callers can pass that on.
bool StreamWriter::drop() {
  if (file_) file_->losses().count_dropped_records(1);
  return false;
}

bool StreamWriter::make_room() {
  if (state_ == WriterState::kClosed) return drop();
  if (is_armed() && Requests::are_news()) Requests::notice();
  if (is_armed() && end_) return true;
  if (cursor_ + kRoom > end_ && !next_chunk()) return false;
  if (is_armed()) return true;
  if (__builtin_expect(at_next_crossing.load(std::memory_order_relaxed) != nullptr, 0)) {
    set_end(end_);
    if (auto* function = at_next_crossing.exchange(nullptr)) function();
  }
  rehearse(amplification.load(std::memory_order_relaxed) - 1);
  return true;
}

bool StreamWriter::make_room_for_begin() {
  return depth_ < kMaxDepth ? make_room() : drop();  // too deep
}

void StreamWriter::set_end(uint8_t* end) {
  end_ = end;
  limit_ = amplification.load(std::memory_order_relaxed) > 1 ? nullptr : end;
}

// The work of a record, which leaves none.
void StreamWriter::rehearse(uint32_t times) {
  for (uint32_t i = 0; i < times; i++) {
    bool is_expected = expected_names_[last_begun_ % kExpectedNames] == i;
    unsigned bytes;
    uint64_t word = encode_varint((now_ticks() - last_ticks_) << 2 | (is_expected ? kExpected : kBegin), bytes);
    rehearsed_ = word | (is_expected ? 0 : uint64_t{stream_}) << (8 * bytes & 63);
  }
}

// An armed writer has no room: each record looks for news, and asks to join once the end is null.
void StreamWriter::rest() {
  limit_ = nullptr;
  cursor_ = end_ = reinterpret_cast<uint8_t*>(frames_);
}

bool StreamWriter::next_chunk() {
  if (is_copy()) {
    let_go();
    return false;
  }
  uint64_t started = now_ticks();
  if (is_armed()) {
    if (!join_(file_, stream_)) {
      rest();
      return true;
    }
    state_ = WriterState::kRecording;
  }
  if (is_failed()) {
    close(false);
    return drop();
  }
  if (sequence_ == 0) {
    meter_.start();
    if (serves_native_code_) meter_.stop();
    written_cpu_ns_ = meter_.cpu_ns();
    last_ticks_ = started = now_ticks();
    is_measuring_ = measures_waits.load(std::memory_order_relaxed);
    measure_at_ = is_measuring_ ? meter_.due_ticks() : next_look(started);
  }
  int error = change_chunk(started);
  if (!error) return true;
  file_->fail(error);
  return drop();
}

int StreamWriter::change_chunk(uint64_t started) {
  uint32_t open_bytes = (depth_ * static_cast<uint32_t>(sizeof(uint32_t)) + 7) & ~7u;
  MappedChunk fresh;
  uint32_t needed = static_cast<uint32_t>(sizeof(ChunkHeader)) + open_bytes + 1024;
  int error = file_->take_chunk(std::max(chunk_bytes_, 2 * needed), fresh);
  if (!error && fresh.header().chunk_bytes < needed) {  // a rest that is too small for the open frames
    file_->close_chunk(fresh, 0, false);
    error = file_->take_chunk(std::max(chunk_bytes_, 2 * needed), fresh);
  }
  if (chunk_.is_mapped()) file_->close_chunk(chunk_, static_cast<uint32_t>(cursor_ - chunk_.payload()), false);
  if (error) {
    close(false);
    return error;
  }
  chunk_ = fresh;
  last_begun_ = 0;
  std::memset(expected_names_, 0, sizeof expected_names_);
  ChunkHeader& header = chunk_.header();
  header.payload_offset = static_cast<uint32_t>(sizeof(ChunkHeader)) + open_bytes;
  header.stream = stream_;
  header.sequence = sequence_++;
  header.base_ticks = last_ticks_;
  header.depth = depth_;
  header.thread_id = thread_id_;
  auto* open_frames = reinterpret_cast<uint32_t*>(chunk_.start() + sizeof(ChunkHeader));
  for (uint32_t i = 0; i < depth_; i++) open_frames[i] = frames_[i].id;
  cursor_ = chunk_.payload();
  set_end(chunk_.end());
  chunk_bytes_ = std::min(chunk_bytes_ * kChunkGrowth, kLargestChunkBytes);
  header.switch_ticks = header.sequence == 0 ? 0 : now_ticks() - started;
  chunk_.begin(ChunkKind::kEvents);
  return 0;
}

// Looks for requests too, so that no record need. What is called at each look may write records, which belong to the gap.
// Returns the time of the record that ends the gap: behind the readings, in which a thread may lose its CPU.
__attribute__((noinline, cold)) uint64_t StreamWriter::measure_gap(uint64_t now) {
  if (Requests::are_due()) Requests::notice();
  now = measure_absence(now);
  if (auto* function = at_each_look.load(std::memory_order_relaxed)) function();
  return std::max(now, last_ticks_);
}

// Of the time since the last record, that is in the innermost frame. Returns the time behind the readings.
uint64_t StreamWriter::measure_absence(uint64_t now) {
  measure_at_ = next_look(now);
  if (!is_measuring_) return now;
  bool is_known_wait = depth_ > 0 && name_facts(frames_[depth_ - 1].id).is_wait;
  AbsentTime time = meter_.measure({last_ticks_, is_known_wait, calls_native_code()}, now);
  measure_at_ = meter_.due_ticks();
  now = std::max(now, now_ticks());
  if (time.blocked + time.queued > 0) {
    AbsentNumbers absent = {time.blocked, time.queued, time.helped};
    write_tagged(now - last_ticks_, kAbsent, absent.values());
    last_ticks_ = now;
  }
  write_cpu_time(meter_.cpu_ns(), now);
  return now;
}

bool StreamWriter::calls_native_code() const {
  uint32_t depth = depth_;
  while (depth > 0 && !name_facts(frames_[depth - 1].id).is_boundary) depth--;
  return depth > 0 && name_facts(frames_[depth - 1].id).is_native;
}

// As it was at `now`, and since the last one.
void StreamWriter::write_cpu_time(uint64_t cpu_ns, uint64_t now) {
  if (cpu_ns <= written_cpu_ns_) return;
  write_tagged(now - last_ticks_, kCpuTime, CpuTimeNumbers{cpu_ns - written_cpu_ns_}.values());
  written_cpu_ns_ = cpu_ns;
  last_ticks_ = now;
}

uint64_t StreamWriter::look() {
  uint64_t now = now_ticks();
  return is_recording() && now >= measure_at_ && has_room() ? measure_gap(now) : now;
}

bool StreamWriter::begin_at(const CodedId& name, uint64_t ticks) {
  if (!is_recording() || depth_ >= kMaxDepth || !has_room()) return false;
  uint64_t delta = std::max(ticks, last_ticks_) - last_ticks_;
  last_ticks_ += delta;
  return write_begin(name.id, name.coded, name.bytes, delta);
}

int StreamWriter::end_with_thread() {
  if (state_ != WriterState::kRecording) return 0;
  int error = 0;
  uint64_t misnested = 0;
  while (depth_ > 0) {
    if (cursor_ + kRoom > end_ && (error = change_chunk(now_ticks()))) break;
    misnested += !frames_[depth_ - 1].is_guess;
    write_end();
  }
  file_->losses().count_misnested_operations(misnested);
  return error;
}

void StreamWriter::end_misnested(uint32_t depth) {
  uint64_t misnested = 0;
  while (depth_ > depth) {
    misnested += depth_ > depth + 1 && !frames_[depth_ - 1].is_guess;
    end();
  }
  if (file_) file_->losses().count_misnested_operations(misnested);
}

void StreamWriter::write_tagged(uint64_t delta, OtherTag tag, const uint64_t* numbers, size_t count) {
  CodedRecord record;
  record.append(delta << 2 | kOther);
  record.append(tag);
  for (size_t i = 0; i < count; i++) record.append(numbers[i] + 1);
  cursor_ += record.store(cursor_);
}

void StreamWriter::collective(const Collective& collective) {
  if (!has_room()) return;
  uint64_t delta = advance();
  uint64_t elapsed = last_ticks_ - std::min(collective.called_at, last_ticks_);
  uint64_t waited = last_ticks_ - std::min(collective.waited_since, last_ticks_);
  CollectiveNumbers numbers = {.wait = collective.name_id,
                               .flags = collective.flags,
                               .sequence = collective.sequence,
                               .bytes = collective.bytes,
                               .elapsed_ticks = elapsed,
                               .waited_ticks = collective.flags & kCollectiveUnwaited ? 0 : std::min(waited, elapsed)};
  write_tagged(delta, kCollective, numbers.values());
}

void StreamWriter::seal_chunk(bool gives_rest_back) {
  if (chunk_.is_mapped()) {
    // Another thread may close this one, which is still blocked.
    if (cursor_ + kRoom <= end_) {
      advance();
      if (is_measuring_) write_cpu_time(thread_cpu_ns(thread_id_), last_ticks_);
    }
    file_->close_chunk(chunk_, static_cast<uint32_t>(cursor_ - chunk_.payload()), gives_rest_back);
  }
  meter_.stop();
}

void StreamWriter::serves_native_code() {
  if (!serves_native_code_) meter_.stop();
  serves_native_code_ = true;
}

void StreamWriter::close(bool gives_rest_back) {
  seal_chunk(gives_rest_back);
  use_up_room();
  state_ = WriterState::kClosed;
}

void StreamWriter::pause() {
  seal_chunk(true);
  while (depth_ > 0 && name_facts(frames_[depth_ - 1].id).is_cuda) depth_--;
  file_ = nullptr;
  stream_ = kNoStream;
  sequence_ = 0;
  chunk_bytes_ = kFirstChunkBytes;
  state_ = WriterState::kArmed;
  is_measuring_ = false;
  measure_at_ = 0;
  rest();
}

__attribute__((no_sanitize("thread"))) uint32_t StreamWriter::depth_seen_from_outside() const {
  return std::min(__atomic_load_n(&depth_, __ATOMIC_RELAXED), kMaxDepth);
}

__attribute__((no_sanitize("thread"))) uint32_t StreamWriter::name_seen_from_outside(uint32_t index) const {
  return __atomic_load_n(&frames_[index].id, __ATOMIC_RELAXED);
}

__attribute__((no_sanitize("thread"))) uint64_t StreamWriter::last_ticks_seen_from_outside() const {
  return __atomic_load_n(&last_ticks_, __ATOMIC_RELAXED);
}

void StreamWriter::abandon() {
  munmap(frames_, kStackBytes);
  let_go();
}

void StreamWriter::let_go() {
  chunk_.unmap();
  file_ = nullptr;
  use_up_room();
  state_ = WriterState::kClosed;
}

void StreamWriter::release_frames() {
  if (stream_ == 0) {
    madvise(frames_, kStackBytes, MADV_DONTNEED);  // other threads may be looking at it
  } else {
    munmap(frames_, kStackBytes);
  }
}

}  // namespace rlscope
