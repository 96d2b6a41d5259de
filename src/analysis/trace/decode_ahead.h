// A thread that decodes streams ahead of the one that goes through their records.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "record_batch.h"
#include "record_decoder.h"

namespace rlscope {

class DecodedAhead;

// Has to outlive what it decodes.
class DecodeAhead {
 public:
  // Of so many streams at once.
  explicit DecodeAhead(size_t streams);
  ~DecodeAhead();
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;

 private:
  friend DecodedAhead;

  void run();
  DecodedAhead* hungriest() const;

  size_t records_;  // of a batch
  std::mutex mutex_;  // of all below, and of what each stream says of its batches
  std::condition_variable has_work_, has_records_;
  std::vector<DecodedAhead*> streams_;
  DecodedAhead* decoding_ = nullptr;  // now, without the mutex
  bool stops_ = false;
  std::thread thread_;
};

// One stream's batches, in a ring.
class DecodedAhead {
 public:
  DecodedAhead(DecodeAhead& ahead, RecordDecoder& decoder);
  ~DecodedAhead();
  DecodedAhead(const DecodedAhead&) = delete;
  DecodedAhead& operator=(const DecodedAhead&) = delete;

  // Instead of the one that it returned before. Throws what decoding did.
  RecordBatch& next_batch();

 private:
  friend DecodeAhead;

  static constexpr size_t kBatches = 4;
  // Either thread sleeps until the other one is half a ring ahead, so that they seldom wake each other.
  static constexpr size_t kHalf = kBatches / 2;

  void decode();
  bool is_wanted() const { return !is_decoded_ && full_ < kBatches; }

  DecodeAhead& ahead_;
  RecordDecoder& decoder_;
  std::vector<RecordBatch> ring_;
  size_t first_ = 0;  // the place of the first one that is full
  size_t full_ = 0;   // with the one that is being read
  bool is_reading_ = false;
  bool is_awaited_ = false;
  bool is_decoded_ = false;  // up to its end, or up to the failure
  std::exception_ptr failure_;  // behind what is full
};

}  // namespace rlscope
