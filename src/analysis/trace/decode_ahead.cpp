// How the thread that decodes and the one that reads hand each other batches.
#include "decode_ahead.h"

#include <algorithm>

namespace rlscope {
namespace {

// Of a batch, and of all batches of all streams: 2 MiB, which caches hold. In large ones the two threads seldom wait for
// each other.
constexpr size_t kFewestRecords = 512;
constexpr size_t kRecordsOfAll = 1 << 17;

}  // namespace

DecodeAhead::DecodeAhead(size_t streams)
    : records_(std::max(kRecordsOfAll / (DecodedAhead::kBatches * std::max<size_t>(streams, 1)), kFewestRecords)),
      thread_([this] { run(); }) {}

DecodeAhead::~DecodeAhead() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

// Of the streams that have room, the one that has least in it; null: none has.
DecodedAhead* DecodeAhead::hungriest() const {
  DecodedAhead* found = nullptr;
  for (DecodedAhead* stream : streams_) {
    if (stream->is_wanted() && (!found || stream->full_ < found->full_)) found = stream;
  }
  return found;
}

void DecodeAhead::run() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    decoding_ = hungriest();
    if (!decoding_) {
      has_work_.wait(lock);
      continue;
    }
    RecordBatch& batch = decoding_->ring_[(decoding_->first_ + decoding_->full_) % DecodedAhead::kBatches];
    std::exception_ptr failure;
    lock.unlock();
    try {
      decoding_->decoder_.fill(batch);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    DecodedAhead& stream = *decoding_;
    decoding_ = nullptr;
    stream.failure_ = failure;
    stream.is_decoded_ = failure || batch.ends_stream();
    stream.full_ += !failure;
    // Or to whoever waits to take the stream away.
    if (!stream.is_awaited_ || stream.is_decoded_ || stream.full_ >= DecodedAhead::kHalf) has_records_.notify_one();
  }
}

DecodedAhead::DecodedAhead(DecodeAhead& ahead, RecordDecoder& decoder)
    : ahead_(ahead),
      decoder_(decoder),
      ring_(kBatches, RecordBatch(ahead.records_)) {
  std::lock_guard lock(ahead_.mutex_);
  ahead_.streams_.push_back(this);
  ahead_.has_work_.notify_one();
}

DecodedAhead::~DecodedAhead() {
  std::unique_lock lock(ahead_.mutex_);
  ahead_.has_records_.wait(lock, [this] { return ahead_.decoding_ != this; });
  ahead_.streams_.erase(std::find(ahead_.streams_.begin(), ahead_.streams_.end(), this));
}

RecordBatch& DecodedAhead::next_batch() {
  std::unique_lock lock(ahead_.mutex_);
  if (is_reading_) {
    first_ = (first_ + 1) % kBatches;
    full_--;
    if (full_ <= kHalf && !is_decoded_) ahead_.has_work_.notify_one();
  }
  is_reading_ = false;
  if (full_ == 0 && !is_decoded_) {
    is_awaited_ = true;
    ahead_.has_records_.wait(lock, [this] { return full_ >= kHalf || is_decoded_; });
    is_awaited_ = false;
  }
  if (full_ == 0) std::rethrow_exception(failure_);
  is_reading_ = true;
  return ring_[first_];
}

}  // namespace rlscope
