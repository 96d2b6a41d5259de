// Reads the device work of one process in the order in which it started, from chunks that may overlap in time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chunk_reader.h"

namespace rlscope {

struct WorkRecord {
  DeviceWork work;
  uint32_t queue;
  uint32_t device;  // kHost: nothing that a device does
  uint32_t name;
  uint32_t launch_site;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t bytes;  // of copies and memsets
  bool communicates;  // with other devices; else it computes
};

// Whether a device is busy with it.
inline bool is_device_work(DeviceWork work) { return work <= kMemset; }

// Whether a file has work of more than one device. As far as its catalog tells: a process that still records may add queues.
bool has_several_devices(const TraceFile& file);

// One chunk's records.
class DeviceReader : public ChunkReader {
 public:
  DeviceReader(TraceFile& file, const DeviceChunk& chunk, uint32_t device);

  // Goes to the next record; false when there is none, or when what follows is damaged.
  bool next();
  const WorkRecord& record() const { return fields_; }

  // Chunks in order of their current record; of several at the same tick the lower queue's and earlier chunk's is first.
  bool is_after(const DeviceReader& other) const;

 private:
  bool open();

  const DeviceChunk& chunk_;
  bool is_open_ = false;
  WorkRecord fields_{};
};

// All records of a file. What is damaged is reported and left out: names, launch sites and queues of records are known.
class DeviceMerge {
 public:
  explicit DeviceMerge(TraceFile& file);

  bool has_next() const { return !readers_.empty(); }
  uint64_t next_ticks() const { return readers_.front()->record().start_ticks; }
  WorkRecord take();

 private:
  using Reader = std::unique_ptr<DeviceReader>;

  void open_due_chunks();
  template <typename IsKnown>
  void learn(IsKnown is_known);
  void push(Reader reader);
  std::string wrong_with(const WorkRecord& record) const;
  bool communicates(const WorkRecord& record);

  TraceFile& file_;
  size_t next_chunk_ = 0;
  std::vector<Reader> readers_;  // of open chunks: a heap, the earliest record in front
  bool catalog_is_final_ = false;
  std::vector<std::optional<bool>> communicates_;  // by name, as far as it was asked
};

}  // namespace rlscope
