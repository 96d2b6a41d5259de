// What a recording lost or cannot tell: counters that any thread counts in, and that the header of its file shows.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace_format.h"

namespace rlscope {

class Losses {
 public:
  void count_dropped_records(uint64_t records) { add(&FileHeader::dropped_records, records); }
  void count_misnested_operations(uint64_t operations) { add(&FileHeader::misnested_operations, operations); }
  void count_dropped_device_records(uint64_t records) { add(&FileHeader::dropped_device_records, records); }
  void count_unresolved_launches(uint64_t records) { add(&FileHeader::unresolved_launches, records); }
  void count_cut_stacks(uint64_t stacks) { add(&FileHeader::cut_stacks, stacks); }

  // Counts from 0, and shows it in this header from now on; null: counts nothing, as in a header that has its checksum.
  void count_in(FileHeader* shown) {
    if (shown) counted_ = {};
    shown_.store(shown, std::memory_order_release);
  }
  void store_in(FileHeader& header) const {
    for (auto counter : kCounters) header.*counter = counted_.*counter;
  }

 private:
  static constexpr uint64_t FileHeader::*kCounters[] = {
      &FileHeader::dropped_records, &FileHeader::misnested_operations, &FileHeader::dropped_device_records,
      &FileHeader::unresolved_launches, &FileHeader::cut_stacks,
  };

  void add(uint64_t FileHeader::*counter, uint64_t number) {
    FileHeader* shown = shown_.load(std::memory_order_acquire);
    if (!shown) return;
    for (FileHeader* header : {&counted_, shown}) __atomic_fetch_add(&(header->*counter), number, __ATOMIC_RELAXED);
  }

  FileHeader counted_{};  // of which the counters are used
  std::atomic<FileHeader*> shown_{nullptr};
};

}  // namespace rlscope
