// Field numbers are those of perfetto/trace/trace_packet.proto and the messages that it holds.
#include "perfetto_writer.h"

#include <algorithm>
#include <cstring>

#include "vocabulary.h"

namespace rlscope {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kLongestPacket = 126;  // of a begin or an end, so that its length is coded in one byte
constexpr uint64_t kClock = 64;         // of the sequence: the first one that is not Perfetto's
constexpr uint64_t kBootTime = 6;       // the clock of the trace
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2;
constexpr char kPacketTag = 1 << 3 | 2;

char* put_number(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

char* put_field(char* at, uint32_t field, uint64_t value) { return put_number(put_number(at, field << 3), value); }

char* put_text(char* at, uint32_t field, std::string_view text) {
  at = put_number(put_number(at, field << 3 | 2), text.size());
  return std::copy(text.begin(), text.end(), at);
}

std::string number(uint32_t field, uint64_t value) {
  char bytes[20];
  return {bytes, put_field(bytes, field, value)};
}

std::string message(uint32_t field, std::string_view content) {
  char bytes[20];
  char* end = put_number(put_number(bytes, field << 3 | 2), content.size());
  return std::string(bytes, end).append(content);
}

}  // namespace

PerfettoWriter::PerfettoWriter(const TraceFile& file, uint64_t first_number, NameOf name_of, Write write)
    : file_(file), first_number_(first_number), name_of_(std::move(name_of)), write_(std::move(write)), buffer_(kBufferBytes, 0) {}

void PerfettoWriter::begin(size_t track, const Slice& slice) {
  Sequence& of = sequence(track, slice.start_ns);
  if (slice.name >= of.named.size() || !of.named[slice.name]) name(of, slice.name);
  char* event = open_packet(of, slice.start_ns, true);
  char* at = put_field(event, 9, kSliceBegin);
  at = put_field(at, 10, slice.name);
  at = put_field(at, 3, static_cast<uint64_t>(slice.kind) + 1);
  if (slice.stage != Stage::kNone && slice.kind >= SliceKind::kOperation) {
    char annotation[40];
    char* end = put_text(put_text(annotation, 10, "stage"), 6, kStageLabels[static_cast<size_t>(slice.stage)]);
    at = put_text(at, 4, {annotation, static_cast<size_t>(end - annotation)});
  }
  if (slice.flow) {
    at = put_number(at, 47 << 3 | 1);
    std::memcpy(at, &slice.flow, sizeof slice.flow);
    at += sizeof slice.flow;
  }
  close_packet(event, at);
}

void PerfettoWriter::end(size_t track, uint64_t end_ns) {
  Sequence& of = sequence(track, end_ns);
  char* event = open_packet(of, end_ns, false);
  close_packet(event, put_field(event, 9, kSliceEnd));
}

void PerfettoWriter::flush() {
  if (used_) write_({buffer_.data(), used_});
  used_ = 0;
}

PerfettoWriter::Sequence& PerfettoWriter::sequence(size_t track, uint64_t now_ns) {
  if (track == sequences_.size()) {
    sequences_.push_back({first_number_ + track, now_ns, {}});
    start(sequences_.back());
  }
  return sequences_[track];
}

void PerfettoWriter::start(const Sequence& sequence) {
  std::string trace_clock = message(1, number(1, kBootTime) + number(2, sequence.now_ns));
  std::string own_clock = message(1, number(1, kClock) + number(2, sequence.now_ns) + number(3, true));
  std::string defaults = number(58, kClock) + message(11, number(11, sequence.number));
  std::string categories;
  for (size_t kind = 0; kind < kSliceKinds; kind++) {
    categories += message(1, number(1, kind + 1) + message(2, slice_kind_label(kind)));
  }
  append_packet(number(10, sequence.number) + number(13, kStateCleared) +
                message(6, trace_clock + own_clock + number(2, kBootTime)) + message(59, defaults) + message(12, categories));
}

void PerfettoWriter::name(Sequence& sequence, uint32_t id) {
  if (id >= sequence.named.size()) sequence.named.resize(file_.names().size());
  sequence.named[id] = true;
  std::string names = message(2, number(1, id) + message(2, name_of_(id)));
  append_packet(number(10, sequence.number) + number(13, kNeedsState) + message(12, names));
}

// Returns where the track event goes. That a packet needs what came before it, so that it is left out where a recorder lost
// that, is said of packets with names alone: of a file nothing is lost, and it is two bytes.
char* PerfettoWriter::open_packet(Sequence& sequence, uint64_t now_ns, bool has_names) {
  if (used_ + kLongestPacket + 2 > buffer_.size()) flush();
  char* at = buffer_.data() + used_ + 2;
  at = put_field(at, 8, now_ns - sequence.now_ns);
  sequence.now_ns = now_ns;
  at = put_field(at, 10, sequence.number);
  if (has_names) at = put_field(at, 13, kNeedsState);
  *at++ = 11 << 3 | 2;
  return at + 1;
}

void PerfettoWriter::close_packet(char* event, char* end) {
  event[-1] = static_cast<char>(end - event);
  char* packet = buffer_.data() + used_;
  packet[0] = kPacketTag;
  packet[1] = static_cast<char>(end - packet - 2);
  used_ += static_cast<size_t>(end - packet);
}

void PerfettoWriter::append_packet(const std::string& packet) {
  std::string whole = message(1, packet);
  if (used_ + whole.size() > buffer_.size()) flush();
  if (whole.size() > buffer_.size()) {
    write_(whole);
  } else {
    std::copy(whole.begin(), whole.end(), buffer_.data() + used_);
    used_ += whole.size();
  }
}

}  // namespace rlscope
