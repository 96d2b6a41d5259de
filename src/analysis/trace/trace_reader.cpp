// Takes decoded records in order, and steps over those of a chunk that whoever reads them rejects.
#include "trace_reader.h"

namespace rlscope {
namespace {

constexpr size_t kRecordsAtOnce = 512;

}  // namespace

StreamReader::StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk,
                           DecodeAhead* ahead)
    : file_(file), decoder_(file, index, window_bytes, first_chunk) {
  stay_at(index.chunks[first_chunk].base_ticks);
  if (ahead) {
    ahead_.emplace(*ahead, decoder_);
  } else {
    own_batch_.emplace(kRecordsAtOnce);
  }
}

void StreamReader::reject(const std::string& what) {
  file_.report_damage(record_offset(), what);
  skipped_ = record_;
  stay_at(record_->ticks);
}

// Stands still at a time behind which there is nothing to be taken quickly.
void StreamReader::stay_at(uint64_t ticks) {
  standstill_[0].ticks = ticks;
  record_ = standstill_;
}

RecordType StreamReader::other_type() const {
  // In the order of the alternatives of OtherRecord, of which the first ones are no records.
  constexpr RecordType kTypes[] = {RecordType::kFinished,   RecordType::kFinished, RecordType::kFinished, RecordType::kChunkStart,
                                   RecordType::kProgress,   RecordType::kAbsent,  RecordType::kTask,     RecordType::kSample,
                                   RecordType::kCollective, RecordType::kMemory,   RecordType::kTagged};
  static_assert(std::size(kTypes) == std::variant_size_v<OtherRecord>);
  return kTypes[other_->index()];
}

const RecordBatch& StreamReader::next_batch() {
  if (ahead_) return ahead_->next_batch();
  decoder_.fill(*own_batch_);
  return *own_batch_;
}

bool StreamReader::next_slowly() {
  if (is_finished_) return false;
  uint64_t ticks = record_->ticks;  // of the last record that counts
  const Record* record = skipped_ ? skipped_ : record_;
  for (;;) {
    if (!taken_ || (other_ && std::holds_alternative<BatchEnd>(*other_))) {
      taken_ = &next_batch();
      record = taken_->before_first();
      next_other_ = taken_->others().data();
      other_ = nullptr;
    }
    record++;
    if (record->name != kOtherName) {
      if (skipped_) continue;
      record_ = record;
      return true;
    }
    other_ = next_other_++;
    if (const auto* damage = std::get_if<FoundDamage>(other_)) {
      if (!skipped_ || !damage->is_in_chunk) file_.report_damage(damage->offset, damage->what);
    } else if (std::holds_alternative<StreamEnd>(*other_)) {
      is_finished_ = true;
      stay_at(ticks);
      return false;
    } else if (const auto* start = std::get_if<ChunkStart>(other_)) {
      skipped_ = nullptr;
      payload_offset_ = start->offset;
      ticks_before_chunk_ = ticks;
      record_ = record;
      return true;
    } else if (other_type() != RecordType::kFinished && !skipped_) {
      record_ = record;
      return true;
    }
  }
}

}  // namespace rlscope
