// The merge of a process's streams in order of time, and what each record changes.
#include "sweep.h"

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "process_sweep.h"

namespace rlscope {
namespace {

// Of each thread's window.
constexpr size_t kLargestWindow = 256 << 10;
constexpr size_t kSmallestWindow = 8 << 10;

// The view by thread has a row per thread, phase and operation, and there is one per phase and wait: a small file can have
// them without end.
constexpr size_t kRowsAlwaysAllowed = 1 << 13;
constexpr size_t kBytesPerRow = 8;

// Of 64 streams that alternate, decoding ahead saved nothing that could be measured.
constexpr size_t kMostStreamsAhead = 16;

}  // namespace

Sweep::Sweep(TraceFile& file, const SweepOptions& options)
    : file_(file),
      options_(options),
      is_always_observed_(options.by_thread || options.costs || options.watch),
      is_observed_(is_always_observed_),
      first_numbered_(options.borders ? kPython : kWait),
      has_devices_(!file.device_chunks().empty()),
      has_several_devices_(has_several_devices(file)),
      tables_(options.borders != nullptr, has_devices_),
      stacks_(file),
      native_calls_(file.header()) {
  if (options.costs) correction_.emplace(*options.costs);
  if (options.borders) {
    detail_.emplace(*options.borders, file.header().start_ticks);
    samples_.keep(kMostSamples);
    cell_is_rare_ = kDetailed;
  }
  const FileHeader& header = file.header();
  size_t share = options.window_bytes / std::max<size_t>(file.streams().size(), 1);
  window_bytes_ = std::clamp(share, kSmallestWindow, kLargestWindow);
  most_rows_ = kRowsAlwaysAllowed + file.bytes() / kBytesPerRow;
  now_ = last_ticks_ = header.start_ticks;
  latest_ = file.latest_ticks();
  end_ = end_ticks(file, options);
  since_ = since_ticks(file, options);
  learn_names();
  for (const auto& [number, stream] : file.streams()) {
    pending_.push_back(&stream);
    streams_[number] = {number, stream.thread_id, 0};
  }
  std::stable_sort(pending_.begin(), pending_.end(), [](const StreamIndex* a, const StreamIndex* b) {
    return std::tie(a->first_ticks, a->stream) > std::tie(b->first_ticks, b->stream);
  });
  threads_.push_back(std::make_unique<Thread>(0, true));
  next_ticks_.insert(0, kNever);
  owner_keys_.push_back(kNever);
  main_ = owner_ = threads_[0].get();
  main_->charged_until = main_->debt.run_down_until = now_;
  set_rare_cell();
  size_t streams = file.streams().size();
  if (options.decodes_ahead && streams <= kMostStreamsAhead) ahead_.emplace(streams);
  devices_.emplace(file, since_, end_, since_ > now_ ? since_ : 0);
  device_ticks_ = devices_->next_ticks();
  if (stacks_.next()) stack_ticks_ = stacks_.seen().ticks;
}

// ---- merge

SweepResult Sweep::run() {
  detail_ ? merge<true>(kNever) : merge<false>(window_end());
  end();
  return result();
}

void Sweep::go_to(uint64_t ticks) { merge<false>(ticks); }

bool Sweep::run_until(uint64_t ticks) {
  go_to(ticks);
  if (next_record_ticks() != kNever) return true;
  end();
  return false;
}

// Up to the records at `until`. Runs the stream with the earliest record until another one's turn comes. At the same tick
// the lower stream is first.
template <bool kWithDetail>
void Sweep::merge(uint64_t until) {
  for (;;) {
    auto [first, limit] = next_ticks_.find();
    uint64_t first_ticks = next_ticks_.smallest();
    if (!pending_.empty() && pending_.back()->first_ticks <= first_ticks && pending_.back()->first_ticks < until) {
      const StreamIndex& stream = *pending_.back();
      pending_.pop_back();
      activate(stream);
      continue;
    }
    if (device_ticks_ <= std::min(first_ticks, stack_ticks_) && device_ticks_ < until) {
      step_devices();
      continue;
    }
    if (stack_ticks_ <= first_ticks && stack_ticks_ < until) {
      step_stacks();
      continue;
    }
    if (std::min({first_ticks, device_ticks_, stack_ticks_}) >= until) return;
    if (first_ticks > latest_) {
      skip_chunk(first);
      continue;
    }
    if (!pending_.empty()) limit = std::min(limit, pending_.back()->first_ticks);
    limit = std::min({limit, device_ticks_, stack_ticks_, latest_ + 1, until});
    run_thread<kWithDetail>(*threads_[first], limit);
  }
}

void Sweep::activate(const StreamIndex& stream) {
  size_t slot = 0;
  if (stream.stream != main_->stream) {
    while (slot < threads_.size() && threads_[slot]->stream < stream.stream) slot++;
    insert(slot, stream.stream);
  }
  Thread& thread = *threads_[slot];
  thread.runs_python |= python_streams_.count(stream.stream) > 0;
  thread.reader.emplace(file_, stream, window_bytes_, stream.first_chunk, ahead_ ? &*ahead_ : nullptr);
  if (thread.reader->next()) {
    next_ticks_.set(slot, thread.reader->ticks());
  } else {
    finish(slot);
  }
}

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::run_thread(Thread& thread, uint64_t limit) {
  StreamReader& reader = *thread.reader;
  // Unless a device works, the process waits, or more is to be known of each record.
  auto is_usual = [this] { return cell_is_rare_ == (kWithDetail ? kDetailed : 0) && !is_observed_; };
  do {
    bool is_leaf = reader.is_followed_by_end(limit) && is_usual() && pass_leaf<kWithDetail>(thread, reader);
    if (!is_leaf) apply<kWithDetail>(thread, reader);
    if (__builtin_expect(!read_next(thread), 0)) {
      finish(thread.slot);
      return;
    }
  } while (reader.ticks() < limit);
  next_ticks_.set(thread.slot, reader.ticks());
}

// The next record is known before time goes on to it: where it says that the thread was blocked, that is from now on.
bool Sweep::read_next_slowly(Thread& thread) {
  StreamReader& reader = *thread.reader;
  if (!reader.next_slowly()) return false;
  if (reader.type() == RecordType::kBlocked && reader.ticks() <= latest_) begin_gap(thread);
  return true;
}

void Sweep::skip_chunk(size_t slot) {
  StreamReader& reader = *threads_[slot]->reader;
  reader.reject("a record lies years after the start of the recording");
  if (reader.next()) {
    next_ticks_.set(slot, reader.ticks());
  } else {
    finish(slot);
  }
}

// What starts or ends on the devices at this tick.
void Sweep::step_devices() {
  advance_slowly(device_ticks_);
  devices_->step();
  device_ticks_ = devices_->next_ticks();
  bool works = devices_->is_running();
  working_ = devices_->working();
  size_t cells = !works ? 0 : devices_->only_communicates() ? kDeviceCommunicates : kDeviceComputes;
  if (cells != device_cells_) {
    if (options_.by_thread) charge_all();
    worked_ticks_ = worked_ticks();
    works_since_ = now_;
    device_cells_ = cells;
    cell_is_rare_ = kRare;
  }
  if (works && options_.gpu_attribution == GpuAttribution::kLaunch) {
    const LaunchSite& launch_site = file_.launch_sites()[devices_->launch_site()];
    if (launch_site.operation && !tables_.knows_name(launch_site.operation)) learn_names();
    launch_scope_ = tables_.scope_of(launch_site);
  }
  set_cell();
}

// Time that the process does not spend in Python on the stack's thread is not the stack's. In a native call it says who made it.
void Sweep::step_stacks() {
  SeenStack seen = stacks_.seen();
  stack_ticks_ = stacks_.next() ? stacks_.seen().ticks : kNever;
  if (seen.ticks > end_) return;
  advance_slowly(seen.ticks);
  if (seen.stack == kTornStack) return lines_.count_torn();
  auto is_its = [&](const auto& thread) { return streams_[thread->stream].thread_id == seen.thread_id; };
  auto found = std::find_if(threads_.begin(), threads_.end(), is_its);
  if (found == threads_.end()) return;
  Thread& thread = **found;
  if ((thread.gap ? thread.gap->category() : thread.category()) != kPython) return see_call(thread, seen.stack);
  if (!has_part(thread)) return;
  Scope scope = scope_of(thread);
  lines_.see(phase_, scope, python_ticks(tables_.row(scope)), seen.stack);
}

void Sweep::insert(size_t slot, uint32_t stream) {
  auto at = static_cast<std::ptrdiff_t>(slot);
  threads_.insert(threads_.begin() + at, std::make_unique<Thread>(stream, false));
  next_ticks_.insert(slot, kNever);
  owner_keys_.insert(owner_keys_.begin() + at, kNever);
  renumber();
}

// A thread that ended with frames open keeps its place to the end.
void Sweep::finish(size_t slot) {
  Thread& thread = *threads_[slot];
  if (thread.reader->ticks() <= latest_) last_ticks_ = std::max(last_ticks_, thread.reader->ticks());
  streams_[thread.stream].events = thread.events;
  next_ticks_.set(slot, kNever);
  thread.reader.reset();
  if (thread.takes_part()) return;
  if (correction_) correction_->settle(thread.debt);
  auto at = static_cast<std::ptrdiff_t>(slot);
  threads_.erase(threads_.begin() + at);
  next_ticks_.erase(slot);
  owner_keys_.erase(owner_keys_.begin() + at);
  renumber();
}

void Sweep::renumber() {
  for (size_t slot = 0; slot < threads_.size(); slot++) {
    threads_[slot]->slot = slot;
    owner_keys_[slot] = owner_key(*threads_[slot]);
    note_busy(*threads_[slot]);
  }
}

void Sweep::learn_names() {
  tables_.learn_names(file_.names());
  if (correction_) correction_->learn_names(file_.names());
}

// An unknown name may be one that a process that still records has added since.
bool Sweep::learn_name(uint64_t id) {
  if (catalog_is_final_) return false;
  file_.reload_catalog();
  learn_names();
  catalog_is_final_ = !tables_.knows_name(id);
  return !catalog_is_final_;
}

// Whether the chunk's header can be used.
bool Sweep::accepts_chunk(Thread& thread) {
  StreamReader& reader = *thread.reader;
  const std::vector<uint32_t>& open_frames = reader.chunk_start().open_frames;
  for (uint32_t id : open_frames) {
    if (tables_.knows_name(id) || learn_name(id)) continue;
    reader.reject("the open frame " + std::to_string(id) + " is not in the catalog");
    return false;
  }
  if (thread.is_fresh) return true;
  bool is_continuation = reader.ticks() >= reader.ticks_before_chunk() && open_frames.size() == thread.frames.depth() &&
                         frames_in_common(thread) == open_frames.size();
  // Behind damage a chunk cannot fit what was read before it: what it says itself holds.
  if (!is_continuation && file_.damage_count() == 0) {
    file_.report_damage(reader.record_offset(), "the chunk does not go on where thread " +
                                                    std::to_string(thread.stream) + " was: another time or open frames");
  }
  return true;
}

// ---- what a record changes

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::apply(Thread& thread, StreamReader& reader) {
  if (__builtin_expect(reader.is_begin(), 1)) {
    uint64_t id = reader.id();
    if (__builtin_expect(!tables_.knows_name(id), 0) && !learn_name(id)) {
      reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of events");
      return;
    }
    advance(thread, reader.ticks(), false, static_cast<uint32_t>(id));
    open<kWithDetail>(thread, static_cast<uint32_t>(id), true);
  } else if (__builtin_expect(reader.is_end(), 1)) {
    if (__builtin_expect(thread.frames.depth() == 0, 0)) {
      reader.reject("an end with nothing open");
      return;
    }
    advance(thread, reader.ticks(), true, 0);
    close<kWithDetail>(thread);
  } else if (reader.type() == RecordType::kBlocked) {
    advance(thread, reader.ticks(), false, 0);
    if (thread.gap) end_gap(thread);
  } else if (reader.type() != RecordType::kChunkStart) {
    advance(thread, reader.ticks(), false, 0);
    note(thread, reader);
  } else if (accepts_chunk(thread)) {
    advance(thread, reader.ticks(), false, 0);
    if (correction_ && now_ == reader.ticks()) correction_->charge_ticks(thread.debt, reader.chunk_start().switch_ticks, now_);
    match_open_frames(thread);
  }
}

// A frame that is not recorded is one that a chunk's header says is open; its begin was lost.
template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::open(Thread& thread, uint32_t id, bool is_recorded) {
  SweepTables::NameState& name = tables_.name(id);
  name.count += is_recorded;
  thread.events += is_recorded;
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    uint64_t boundary = name.category;
    if (kWithDetail || __builtin_expect(boundary >= first_numbered_, 0)) {
      boundary |= uint64_t{name.number} << kWaitShift;
      if (name.category == kWait && is_recorded) wait_sum(name.number).count++;
      if (name.category == kCudaWait) begin_sync(thread, id, is_recorded);
    }
    open_boundary(thread, name, is_recorded);
    thread.frames.push(thread.boundary, id, now_);
    thread.boundary = boundary;
    thread.boundaries++;
    thread_changed<kWithDetail>(thread);
    if (kWithDetail && is_recorded) count_call(thread);
    return;
  }
  if (thread.boundaries == 0) thread.runs_python = true;
  if (name.kind == NameKind::kOperation) {
    Scope before = thread.scope;
    thread.frames.push(before, id, now_);
    if (detail_) thread.operation_starts.push_back(now_);
    set_scope(thread, SweepTables::inner_scope(before, name));
  } else {
    thread.frames.push(phases_opened_, id, now_);
    open_phases_[phases_opened_++] = {name.number, thread.stream, is_recorded};
    tables_.begin_phase(name.number, now_);
    phases_changed();
  }
}

// Counts the transition, if it is one.
[[gnu::always_inline]] inline void Sweep::open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded) {
  uint8_t from = thread.category();
  if (__builtin_expect(!thread.runs_python && thread.boundaries == 0, 0)) {
    if (is_called_by_native_code(name)) {
      from = owner_->gap ? owner_->gap->category() : owner_->category();
      has_native_threads_ = true;
    } else {
      thread.runs_python = true;
    }
  }
  if (from == name.category || !is_recorded) return;
  tables_.count_transition(scope_of(thread), from, name.category);
}

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::close(Thread& thread) {
  const Frame& frame = thread.frames.pop();
  const SweepTables::NameState& name = tables_.name(frame.id);
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    thread.boundary = frame.saved;
    thread.boundaries--;
    if (__builtin_expect(thread.frames.depth() == thread.watched_frame, 0)) end_watched(thread);
    thread_changed<kWithDetail>(thread);
  } else if (name.kind == NameKind::kOperation) {
    if (detail_) {
      detail_->end_operation(thread.scope, thread.operation_starts.back(), now_);
      thread.operation_starts.pop_back();
    }
    set_scope(thread, static_cast<Scope>(frame.saved));
  } else {
    open_phases_.erase(frame.saved);
    tables_.end_phase(name.number, now_);
    phases_changed();
  }
}

// How many of a thread's frames, from the outermost, are the ones that the chunk's header names.
size_t Sweep::frames_in_common(const Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->chunk_start().open_frames;
  size_t limit = std::min(open_frames.size(), thread.frames.depth());
  size_t same = 0;
  while (same < limit && thread.frames[same].id == open_frames[same]) same++;
  return same;
}

// Where the header of a chunk differs from what was read before it, the header holds.
void Sweep::match_open_frames(Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->chunk_start().open_frames;
  size_t same = frames_in_common(thread);
  while (thread.frames.depth() > same) close<false>(thread);
  for (size_t i = same; i < open_frames.size(); i++) open<false>(thread, open_frames[i], false);
  thread.is_fresh = false;
}

// ---- who owns the instant

// All time up to now is to be added up before.
void Sweep::mark_loop(LoopMark mark) {
  if (wait_sum_ || adds_idle_) wait_changed();
  tables_.mark_loop(mark, now_);
}

void Sweep::set_scope(Thread& thread, Scope scope) {
  Scope before = thread.scope;
  if (before == 0) {
    bool is_loop = static_cast<Stage>(scope % kStages) == Stage::kTrainingLoop;
    thread.outermost = is_loop ? LoopMark::kTrainingLoop : LoopMark::kOperation;
    threads_in_operations_ += !thread.was_in_operation;
    thread.was_in_operation = true;
    thread.sample_since = now_;
  }
  if ((before == 0) != (scope == 0)) mark_loop(thread.outermost);
  if (thread.is_main && threads_.size() > 1) {
    // Threads without an operation of their own have the main thread's.
    if (options_.by_thread) charge_all();
    thread.scope = scope;
    note_busy(thread);
    if ((before == 0) != (scope == 0)) {
      for (const auto& other : threads_) owner_keys_[other->slot] = owner_key(*other);
      choose_owner();
      sort_sharing();
    }
    set_cell();
    return;
  }
  thread.scope = scope;
  thread_changed(thread);
}

void Sweep::phases_changed() {
  if (options_.by_thread) charge_all();
  phase_ = open_phases_.empty() ? 0 : open_phases_.rbegin()->second.number;
  evaluated_ = evaluated();
  evaluated_until_ = now_;
  tables_.enter_phase(phase_);
  if (detail_) detail_->enter_phase(phase_, now_);
  set_cell();
}

SweepResult Sweep::result() {
  SweepResult result;
  result.start_ticks = since_;
  result.end_ticks = now_;
  result.last_record_ticks = last_ticks_;
  result.progress = progress_;
  for (const auto& [number, stream] : streams_) result.streams.push_back(stream);
  learn_names();
  wait_changed();
  for (const auto& thread : threads_) {
    if (thread->scope != 0) mark_loop(thread->outermost);
  }
  if (busy_ > 1) beside_ticks_ += now_ - beside_since_;
  result.beside_ticks = beside_ticks_;
  result.threads_in_operations = threads_in_operations_;
  if (since_ == file_.header().start_ticks) {
    if (uint64_t devices = devices_->seen()) tables_.write_idle(file_.names(), devices, result);
    result.samples = samples_.rows(file_.names());
    result.sample_tails = samples_.tails();
    result.collectives = std::move(collectives_);
  }
  result.lines = lines_.rows(file_, tables_);
  result.torn_stacks = lines_.torn();
  result.memory = memory_.rows(tables_);
  result.memory_series = memory_.series();
  end_all_watched();
  result.sync_points = native_calls_.sync_points(file_, tables_);
  result.call_sites = native_calls_.call_sites(file_, tables_);
  tables_.write(file_.names(), result);
  result.tasks = tasks_.rows(file_.names());
  tables_.write_devices(file_, *devices_, result);
  if (correction_) {
    for (const auto& thread : threads_) correction_->settle(thread->debt);
    tables_.write_overhead(file_.names(), *correction_, result);
  }
  if (detail_) {
    detail_->finish(now_);
    tables_.write_detail(file_.names(), *detail_, result);
    result.detail->samples = samples_.spans(file_.names());
    result.detail->frames = lines_.frames(file_, tables_);
  }
  return result;
}

}  // namespace rlscope
