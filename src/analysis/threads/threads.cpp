// Lets threads begin with the first record of their streams, and end with the last one.
#include "threads.h"

#include <algorithm>
#include <tuple>

namespace rlscope {
namespace {

// Of each thread's window.
constexpr size_t kLargestWindow = 256 << 10;
constexpr size_t kSmallestWindow = 8 << 10;

// Of 64 streams that alternate, decoding ahead saved nothing that could be measured.
constexpr size_t kMostStreamsAhead = 16;

}  // namespace

Threads::Threads(TraceFile& file, size_t window_bytes, bool decodes_ahead)
    : file_(file), last_ticks_(file.header().start_ticks) {
  size_t count = file.streams().size();
  window_bytes_ = std::clamp(window_bytes / std::max<size_t>(count, 1), kSmallestWindow, kLargestWindow);
  for (const auto& [number, stream] : file.streams()) {
    pending_.push_back(&stream);
    streams_[number] = {number, stream.thread_id, 0};
  }
  std::stable_sort(pending_.begin(), pending_.end(), [](const StreamIndex* a, const StreamIndex* b) {
    return std::tie(a->first_ticks, a->stream) > std::tie(b->first_ticks, b->stream);
  });
  threads_.push_back(std::make_unique<Thread>(0, true));
  next_ticks_.insert(0, kNever);
  main_ = threads_[0].get();
  main_->charged_until = main_->debt.run_down_until = last_ticks_;
  if (decodes_ahead && count <= kMostStreamsAhead) ahead_.emplace(count);
}

std::vector<Thread*> Threads::in_order() const {
  std::vector<Thread*> threads;
  for (const auto& thread : threads_) threads.push_back(thread.get());
  return threads;
}

Thread* Threads::find(uint64_t thread_id) {
  auto is_it = [&](const auto& thread) { return streams_[thread->stream].thread_id == thread_id; };
  auto found = std::find_if(threads_.begin(), threads_.end(), is_it);
  return found == threads_.end() ? nullptr : found->get();
}

Thread& Threads::begin() {
  const StreamIndex& stream = *pending_.back();
  pending_.pop_back();
  size_t slot = 0;
  if (stream.stream != main_->stream) {
    while (slot < threads_.size() && threads_[slot]->stream < stream.stream) slot++;
    threads_.insert(threads_.begin() + static_cast<std::ptrdiff_t>(slot), std::make_unique<Thread>(stream.stream, false));
    next_ticks_.insert(slot, kNever);
    renumber();
  }
  threads_[slot]->reader.emplace(file_, stream, window_bytes_, stream.first_chunk, ahead_ ? &*ahead_ : nullptr);
  return *threads_[slot];
}

std::unique_ptr<Thread> Threads::end(Thread& thread) {
  if (thread.reader->ticks() <= file_.latest_ticks()) last_ticks_ = std::max(last_ticks_, thread.reader->ticks());
  streams_[thread.stream].events = thread.events;
  next_ticks_.set(thread.slot, kNever);
  thread.reader.reset();
  if (thread.takes_part()) return nullptr;
  size_t slot = thread.slot;
  std::unique_ptr<Thread> ended = std::move(threads_[slot]);
  threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(slot));
  next_ticks_.erase(slot);
  renumber();
  return ended;
}

void Threads::stop() {
  for (const auto& thread : threads_) {
    streams_[thread->stream].events = thread->events;
    if (next_ticks_[thread->slot] != kNever) last_ticks_ = std::max(last_ticks_, next_ticks_[thread->slot]);
  }
}

std::vector<SweptStream> Threads::streams() const {
  std::vector<SweptStream> streams;
  for (const auto& [number, stream] : streams_) streams.push_back(stream);
  return streams;
}

void Threads::forget_events() {
  for (auto& [number, stream] : streams_) stream.events = 0;
  for (const auto& thread : threads_) thread->events = 0;
}

void Threads::renumber() {
  for (size_t slot = 0; slot < threads_.size(); slot++) threads_[slot]->slot = slot;
}

}  // namespace rlscope
