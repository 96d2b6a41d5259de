// Collects slices in columns, so many at a time: for tables.
#pragma once
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "slices.h"

namespace rlscope {

// Batches have no new names.
class BatchSink : public SliceSink {
 public:
  using OnBatch = std::function<void(SliceBatch)>;

  BatchSink(size_t most_slices, OnBatch on_batch) : most_slices_(most_slices), on_batch_(std::move(on_batch)) {}

  void add_track(const SliceTrack& track) override {
    open_.emplace_back();
    batch_.new_tracks.push_back(track);
  }

  void begin(size_t track, const Slice& slice) override { open_[track].push_back(slice); }

  void end(size_t track, uint64_t end_ns) override {
    const Slice& slice = open_[track].back();
    batch_.tracks.push_back(static_cast<uint32_t>(track));
    batch_.starts.push_back(slice.start_ns);
    batch_.ends.push_back(end_ns);
    batch_.kinds.push_back(static_cast<uint8_t>(slice.kind));
    batch_.names.push_back(slice.name);
    batch_.operations.push_back(slice.operation);
    batch_.stages.push_back(static_cast<uint8_t>(slice.stage));
    batch_.depths.push_back(slice.depth);
    batch_.flows.push_back(slice.flow);
    open_[track].pop_back();
    if (batch_.starts.size() == most_slices_) flush();
  }

  void flush() {
    if (!batch_.starts.empty()) on_batch_(std::move(batch_));
    batch_ = {};
  }

 private:
  size_t most_slices_;
  OnBatch on_batch_;
  std::vector<std::vector<Slice>> open_;  // by track
  SliceBatch batch_;
};

}  // namespace rlscope
