// Writes one thread's records: the hot path of the recorder. No lock, no allocation, no system call until a chunk is full.
#pragma once
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "api.h"
#include "blocked_meter.h"
#include "clock.h"
#include "process_file.h"
#include "requests.h"
#include "trace_format.h"
#include "varint.h"

namespace rlscope {

// A name id with its coded form, ready to be stored.
struct CodedId {
  uint32_t id;
  uint32_t coded;
  uint32_t bytes;
};

inline CodedId encode_id(uint32_t id) {
  unsigned bytes;
  uint64_t coded = encode_varint(id, bytes);
  return {id, static_cast<uint32_t>(coded), bytes};
}

// A call of a communicator that is over: its record says how long ago it was called.
struct Collective {
  uint32_t name_id;
  uint64_t flags;
  uint64_t sequence;
  uint64_t bytes;
  uint64_t called_at;       // ticks
  uint64_t waited_since;    // ticks; with kCollectiveUnwaited of no meaning
};

// What becomes of a thread's records.
enum class WriterState : uint8_t {
  kArmed,      // nothing records yet: the writer follows which frames are open, and writes nothing
  kRecording,  // they go into the process's file
  kClosed,     // for good: they are ignored, and counted as dropped if the recording goes on
};

class RLSCOPE_API StreamWriter {
 public:
  // Gives a writer the file that is recorded, and its number there; false while nothing records.
  using JoinRecording = bool (*)(ProcessFile*& file, uint32_t& stream);

  // Makes each record of all threads cost as much as so many; a thread takes it up with its next chunk.
  static std::atomic<uint32_t> amplification;
  // Whether writers that begin from now on ask for how long their threads were blocked.
  static std::atomic<bool> measures_waits;
  // Called, once, by a record that finds no room.
  static std::atomic<void (*)()> at_next_crossing;
  // Called, on any thread, by records that ask whether the thread was blocked: every 0.4 to 16 ms where it runs.
  static std::atomic<void (*)()> at_each_look;

  struct Frame {
    uint32_t id;
    uint16_t repeats;   // the same operation entered again while innermost: nothing new to record
    uint16_t joins : 12;  // a stage entered again while this frame lies in it: likewise
    uint16_t is_stage : 1;
    uint16_t leaves_stage : 1;  // it is in none of the stages around it
    uint16_t is_guess : 1;  // nobody closes it: it ends where the next stage begins or the frame below it ends
    uint16_t is_of_task : 1;  // belongs to a coroutine or generator, with which it is suspended
  };
  static_assert(sizeof(Frame) == 8);

  // Both return false when nothing could be written; then no frame was opened.
  bool begin(const CodedId& name) { return begin(name.id, name.coded, name.bytes); }
  bool begin(uint32_t id, uint64_t coded_id, unsigned id_bytes) {
    if (__builtin_expect(cursor_ + kRoom > limit_ || depth_ >= kMaxDepth, 0)) {
      if (!(is_resting() && depth_ < kMaxDepth) && !make_room_for_begin()) return false;
      if (is_armed()) return open_frame(id);
    }
    return write_begin(id, coded_id, id_bytes, advance());
  }
  // Begins a frame at a time that has passed since the last record.
  bool begin_at(const CodedId& name, uint64_t ticks);
  // The frame that has begun is a known wait: if that is long, its end is a reading, so that a gap behind it is not taken for it.
  void begin_wait() { measure_at_ = std::min(measure_at_, last_ticks_ + BlockedMeter::kShortestTicks); }
  // Before what may be recorded later: asks here how long the thread was blocked until now, if that is due. Returns the time.
  uint64_t look();

  // Closes the innermost frame.
  void end() {
    // A new chunk starts with the frame still open: its end is the chunk's first record.
    if (__builtin_expect(!has_room(), 0)) {
      depth_--;
      return;
    }
    write_end();
  }

  // Closes every frame above the first `depth`; those that nobody closed, unless guessed, are counted as misnested.
  void end_to(uint32_t depth) {
    if (__builtin_expect(depth_ == depth + 1, 1)) {
      end();
    } else if (depth_ > depth) {
      end_misnested(depth);
    }
  }

  // A record with a tag, by a struct of tagged_records.h.
  template <class Numbers>
  void report(const Numbers& numbers) {
    if (has_room()) write_tagged(advance(), Numbers::kTag, numbers.values());
  }
  // The same at the time of the record before, of which it says more.
  template <class Numbers>
  void report_with_last(const Numbers& numbers) {
    if (has_room()) write_tagged(0, Numbers::kTag, numbers.values());
  }
  void collective(const Collective& collective);

  uint32_t depth() const { return depth_; }
  // When the last record was written, or would have been.
  uint64_t last_ticks() const { return is_armed() ? now_ticks() : last_ticks_; }
  Frame& frame(uint32_t index) { return frames_[index]; }
  bool is_guessing() const { return depth_ > 0 && frames_[depth_ - 1].is_guess; }
  void count_simulation() { simulations_++; }
  // This thread belongs to native code, which calls Python back on it: what it computes helps whoever has called that code.
  void serves_native_code();
  uint64_t simulations() const { return simulations_; }
  bool is_armed() const { return state_ == WriterState::kArmed; }
  bool is_closed() const { return state_ == WriterState::kClosed; }
  bool is_recording() const { return state_ == WriterState::kRecording; }
  // Completes the chunk; later records are ignored. `gives_rest_back` as `is_last` of ProcessFile::close_chunk.
  void close(bool gives_rest_back);
  // Completes the chunk, and is armed from then on. CUDA calls that are open end: nobody tells of their end any more.
  void pause();
  // The thread ends, and its frames with it; those that were not guessed are counted as misnested. Tells nobody of a
  // failure, so that the session's lock may be held. An errno, 0 for success.
  int end_with_thread();
  // After close, when no frame of this thread can be open any more.
  void release_frames();
  // In a forked child: lets go of what was mapped for the parent's thread, of which the address alone stays.
  void abandon();
  uint32_t stream() const { return stream_; }
  // How many frames are open, the name of one, and when the last record was written, as another thread sees them: it may be
  // a record late.
  uint32_t depth_seen_from_outside() const;
  uint32_t name_seen_from_outside(uint32_t index) const;
  uint64_t last_ticks_seen_from_outside() const;

  static constexpr uint32_t kMaxDepth = 1 << 18;

  // The first three members lie at the end of a page that the kernel wipes in forked children, all others behind it.
  static void* operator new(size_t bytes);
  static void operator delete(void* writer);

 private:
  friend class Session;
  // The longest records that follow each other without a look at the room: of a gap that was blocked, of time on a CPU, and
  // what ends the gap.
  static constexpr uint32_t kRoom = 120;

  // Joins the recording if there is one, else it is armed. Closed where that failed; without memory for frames errno
  // says why.
  StreamWriter(uint64_t thread_id, JoinRecording join);

  uint64_t advance() {
    uint64_t now = now_ticks();
    // Equal times are common in a hot loop, so it may not depend on them which way this branch goes.
    if (__builtin_expect(now < last_ticks_, 0)) return 0;
    if (__builtin_expect(now >= measure_at_, 0)) now = measure_gap(now);
    uint64_t delta = now - last_ticks_;
    last_ticks_ = now;
    return delta;
  }
  // Whether the name that is begun is the expected one, as in trace_format.h; from now on it is.
  bool expect(uint32_t id) {
    uint32_t& expected = expected_names_[last_begun_ % kExpectedNames];
    bool is_expected = expected == id;
    expected = last_begun_ = id;
    return is_expected;
  }
  [[gnu::always_inline]] bool write_begin(uint32_t id, uint64_t coded_id, unsigned id_bytes, uint64_t delta) {
    // Which way this goes must not be a branch, for a processor guesses it wrong once in four times.
    bool is_expected = expect(id) & (delta != 0);
    coded_id = is_expected ? 0 : coded_id;
    id_bytes = is_expected ? 0 : id_bytes;
    unsigned bytes;
    uint64_t word = encode_varint(delta << 2 | (is_expected ? kExpected : kBegin), bytes);
    open_frame(id);
    if (__builtin_expect(bytes + id_bytes <= 8, 1)) {
      store(word | coded_id << (8 * bytes), bytes + id_bytes);
    } else {
      std::memcpy(cursor_ + bytes, &coded_id, sizeof coded_id);
      std::memcpy(cursor_, &word, bytes);
      cursor_ += bytes + id_bytes;
    }
    return true;
  }
  void write_end() {
    unsigned bytes;
    uint64_t word = encode_varint(advance() << 2 | kEnd, bytes);
    depth_--;
    store(word, bytes);
  }
  void store(uint64_t word, unsigned bytes) {
    std::memcpy(cursor_, &word, sizeof word);  // one store: after SIGKILL the record is whole or absent
    cursor_ += bytes;
  }

  bool open_frame(uint32_t id) {
    frames_[depth_++] = {id, 0, 0, 0, 0, 0, 0};
    return true;
  }
  // Whether a record is to be written.
  bool has_room() { return cursor_ + kRoom <= limit_ || (!is_resting() && make_room() && !is_armed()); }
  // Armed, with nothing to ask for.
  bool is_resting() const { return is_armed() && end_ && Requests::is_quiet(); }
  bool make_room();
  bool make_room_for_begin();
  bool next_chunk();
  void seal_chunk(bool gives_rest_back);
  void let_go();
  bool is_failed() const { return file_ && file_->has_failed(); }
  bool drop();
  void rest();
  int change_chunk(uint64_t started);
  uint64_t measure_gap(uint64_t now);
  uint64_t measure_absence(uint64_t now);
  bool calls_native_code() const;
  void write_cpu_time(uint64_t cpu_ns, uint64_t now);
  template <size_t count>
  void write_tagged(uint64_t delta, OtherTag tag, const std::array<uint64_t, count>& numbers) {
    write_tagged(delta, tag, numbers.data(), count);
  }
  void write_tagged(uint64_t delta, OtherTag tag, const uint64_t* numbers, size_t count);
  // The next record finds no room, so it asks anew: an armed writer joins a recording that has begun meanwhile, and one
  // whose file has failed is closed.
  void use_up_room() { limit_ = end_ = nullptr; }
  // At the start of a recording; false where its first chunk cannot be made.
  bool begin_recording() { return (state_ == WriterState::kRecording && !is_failed()) || next_chunk(); }
  // What is written up to here needs no cold path, unless records are to cost more than they do.
  void set_end(uint8_t* end);
  void rehearse(uint32_t times);
  void end_misnested(uint32_t depth);

  // Whether this is the copy that a fork made of another process's writer.
  bool is_copy() const { return !cursor_ && chunk_.is_mapped(); }

  // These three are in the wiped page, so null in every forked child: a program may fork by the system call itself, of
  // which no handler is told, and the copy of this writer must not write into its original's chunk.
  uint8_t* cursor_ = nullptr;
  uint8_t* limit_ = nullptr;  // up to here records go the short way; null sends each the long one
  uint8_t* end_ = nullptr;    // of the chunk; null to ask anew whether there is one
  uint64_t last_ticks_ = 0;   // the first member that is not wiped
  uint64_t measure_at_ = 0;  // the first record from then on asks whether the thread was blocked, and for requests
  Frame* frames_ = nullptr;
  uint32_t depth_ = 0;
  uint32_t last_begun_ = 0;  // in this chunk, of which the expected names are too
  WriterState state_ = WriterState::kArmed;
  uint32_t stream_ = kNoStream;
  uint32_t sequence_ = 0;
  uint32_t chunk_bytes_;
  bool is_measuring_ = false;  // asks whether the thread was blocked
  uint64_t thread_id_;
  BlockedMeter meter_;
  bool serves_native_code_ = false;
  uint64_t written_cpu_ns_ = 0;  // what the thread's CPU time was when it was written last
  uint64_t simulations_ = 0;  // how often this thread has begun to simulate
  MappedChunk chunk_;
  JoinRecording join_;
  ProcessFile* file_ = nullptr;  // of the recording that it has joined
  volatile uint64_t rehearsed_ = 0;
  uint32_t expected_names_[kExpectedNames] = {};
};

}  // namespace rlscope
