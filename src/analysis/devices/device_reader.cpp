// The merge of a process's device chunks, and what makes a record impossible.
#include "device_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "communication.h"

namespace rlscope {
namespace {

constexpr size_t kWindowBytes = 16 << 10;
constexpr size_t kLongestRecord = 5 * kMaxVarintBytes;

bool is_after(const std::unique_ptr<DeviceReader>& a, const std::unique_ptr<DeviceReader>& b) { return a->is_after(*b); }

}  // namespace

bool has_several_devices(const TraceFile& file) {
  std::optional<uint32_t> first;
  for (const DeviceChunk& chunk : file.device_chunks()) {
    const QueueEntry* queue = file.queue(chunk.stream);
    if (!queue) return true;
    if (queue->device == kHost) continue;
    if (first && *first != queue->device) return true;
    first = queue->device;
  }
  return false;
}

DeviceReader::DeviceReader(TraceFile& file, const DeviceChunk& chunk, uint32_t device)
    : ChunkReader(file, std::min<uint64_t>(kWindowBytes, chunk.place.end - chunk.place.offset)), chunk_(chunk) {
  fields_.queue = chunk.stream;
  fields_.device = device;
  fields_.start_ticks = chunk.place.base_ticks;
}

bool DeviceReader::is_after(const DeviceReader& other) const {
  return std::tie(fields_.start_ticks, chunk_.stream, chunk_.place.sequence) >
         std::tie(other.fields_.start_ticks, other.chunk_.stream, other.chunk_.place.sequence);
}

bool DeviceReader::open() {
  const ChunkPlace& place = chunk_.place;
  is_open_ = true;
  seek(place.offset);
  // The header again, not the one that was indexed: since then the chunk may have been closed.
  ChunkHeader header{};
  file_.read(place.offset, &header, sizeof header);
  std::string wrong = file_.check_chunk(header);
  if (wrong.empty() && !open_payload(place, header)) {
    wrong = "the checksum of chunk " + std::to_string(place.sequence) + " of queue " + std::to_string(chunk_.stream) +
            " does not match";
  }
  if (!wrong.empty()) {
    file_.report_damage(place.offset, wrong);
    payload_end_ = 0;
  }
  return wrong.empty();
}

bool DeviceReader::next() {
  if (!is_open_ && !open()) return false;
  if (payload_end_ == 0 || !reaches_record(kLongestRecord)) return false;
  const uint8_t* cursor = cursor_;
  uint64_t numbers[5] = {};
  size_t wanted = 4;
  bool is_sound = true;
  for (size_t i = 0; i < wanted && is_sound; i++) {
    is_sound = cursor < window_end_ && (numbers[i] = decode_varint(cursor)) != 0 && cursor <= window_end_;
    if (i > 0 || !is_sound) continue;
    fields_.work = static_cast<DeviceWork>(numbers[0] & 7);
    is_sound = fields_.work >= kKernel && fields_.work <= kGap;
    wanted = fields_.work == kCopy || fields_.work == kMemset ? 5 : 4;
  }
  if (!is_sound) {
    reject("no record of device work starts here");
    return false;
  }
  uint64_t start_ticks = fields_.start_ticks + (numbers[0] >> 3);
  uint64_t end_ticks = start_ticks + numbers[1] - 1;
  if (end_ticks > file_.latest_ticks()) {
    reject("device work lies years after the start of the recording");
    return false;
  }
  if (numbers[2] > UINT32_MAX || numbers[3] > UINT32_MAX) {
    reject("the name or launch site " + std::to_string(std::max(numbers[2], numbers[3])) + " of device work is impossible");
    return false;
  }
  fields_.start_ticks = start_ticks;
  fields_.end_ticks = end_ticks;
  fields_.name = static_cast<uint32_t>(numbers[2]);
  fields_.launch_site = static_cast<uint32_t>(numbers[3]);
  fields_.bytes = wanted == 5 ? numbers[4] - 1 : 0;
  cursor_ = cursor;
  return true;
}

DeviceMerge::DeviceMerge(TraceFile& file) : file_(file) { open_due_chunks(); }

WorkRecord DeviceMerge::take() {
  std::pop_heap(readers_.begin(), readers_.end(), is_after);
  Reader reader = std::move(readers_.back());
  readers_.pop_back();
  WorkRecord record = reader->record();
  record.communicates = communicates(record);
  push(std::move(reader));
  open_due_chunks();
  return record;
}

// A chunk whose first record may be the next one has to be open, the others are not yet.
void DeviceMerge::open_due_chunks() {
  const std::vector<DeviceChunk>& chunks = file_.device_chunks();
  while (next_chunk_ < chunks.size() && (readers_.empty() || chunks[next_chunk_].place.base_ticks <= next_ticks())) {
    const DeviceChunk& chunk = chunks[next_chunk_++];
    if (!file_.queue(chunk.stream)) learn([&] { return file_.queue(chunk.stream) != nullptr; });
    if (const QueueEntry* queue = file_.queue(chunk.stream)) {
      push(std::make_unique<DeviceReader>(file_, chunk, queue->device));
    } else {
      file_.report_damage(chunk.place.offset, "queue " + std::to_string(chunk.stream) + " is not in the catalog");
    }
  }
}

// What is not in the catalog may be what a process that still records has added since.
template <typename IsKnown>
void DeviceMerge::learn(IsKnown is_known) {
  if (catalog_is_final_) return;
  file_.reload_catalog();
  catalog_is_final_ = !is_known();
}

// Lets the reader take its place by its next record, if it has one.
void DeviceMerge::push(Reader reader) {
  while (reader->next()) {
    std::string wrong = wrong_with(reader->record());
    if (!wrong.empty()) {
      learn([&] { return wrong_with(reader->record()).empty(); });
      wrong = wrong_with(reader->record());
    }
    if (wrong.empty()) {
      readers_.push_back(std::move(reader));
      std::push_heap(readers_.begin(), readers_.end(), is_after);
      return;
    }
    reader->reject(wrong);
  }
}

// Kernels have few names and many records.
bool DeviceMerge::communicates(const WorkRecord& record) {
  if (!is_device_work(record.work)) return false;
  if (record.name >= communicates_.size()) communicates_.resize(file_.names().size());
  std::optional<bool>& known = communicates_[record.name];
  if (!known) known = is_communication(file_.names()[record.name].text);
  return *known;
}

std::string DeviceMerge::wrong_with(const WorkRecord& record) const {
  if (is_device_work(record.work) == (record.device == kHost)) {
    return "work of kind " + std::to_string(record.work) + " is not of its queue's device";
  }
  const std::vector<Name>& names = file_.names();
  if (record.name >= names.size() || names[record.name].kind != NameKind::kDeviceWork) {
    return "the device work's name " + std::to_string(record.name) + " is not in the catalog";
  }
  const std::vector<LaunchSite>& launch_sites = file_.launch_sites();
  if (record.launch_site >= launch_sites.size() || launch_sites[record.launch_site].id == 0) {
    return "the launch site " + std::to_string(record.launch_site) + " is not in the catalog";
  }
  return {};
}

}  // namespace rlscope
