// The merge of a process's streams in order of time, and what each record changes.
#include "sweep.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "correction.h"
#include "sweep_tables.h"
#include "sweep_thread.h"

namespace rlscope {
namespace {

// Who owns an instant: the lower the sooner. By whether the thread is outside any operation, and by its category.
constexpr uint64_t kOwnerRank[2][kCategories] = {{0, 1, 3, 2, 9, 8}, {4, 5, 7, 6, 11, 10}};
constexpr auto kPython = static_cast<uint8_t>(Category::kPython);
constexpr auto kSimulator = static_cast<uint8_t>(Category::kSimulator);
constexpr auto kBackend = static_cast<uint8_t>(Category::kBackend);
constexpr auto kCuda = static_cast<uint8_t>(Category::kCuda);
constexpr auto kCudaWait = static_cast<uint8_t>(Category::kCudaWait);
constexpr auto kWait = static_cast<uint8_t>(Category::kWait);

// All threads' windows together; each gets a share of it within these bounds.
constexpr size_t kWindowBudget = 32 << 20;
constexpr size_t kLargestWindow = 256 << 10;
constexpr size_t kSmallestWindow = 8 << 10;

// A boundary's category and, above it, the wait's number.
constexpr unsigned kWaitShift = 8;
constexpr uint64_t kFirstWait = 1 << kWaitShift;

constexpr size_t kFewThreads = 8;
constexpr uint64_t kNever = DeviceTimeline::kNever;

// The view by thread has a row per thread, phase and operation, and there is one per phase and wait: a small file can have
// them without end.
constexpr size_t kRowsAlwaysAllowed = 1 << 13;
constexpr size_t kBytesPerRow = 8;

// The place of the smallest value, the first of several; `second` becomes the smallest of the others, or kNever.
// Conditional moves only: which thread comes next is not for the branch predictor to know.
inline size_t smallest(const std::vector<uint64_t>& values, uint64_t& second) {
  const uint64_t* all = values.data();
  size_t count = values.size();
  size_t place = 0;
  uint64_t best = all[0];
  uint64_t next_best = kNever;
  for (size_t i = 1; i < count; i++) {
    uint64_t larger = all[i] < best ? best : all[i];
    place = all[i] < best ? i : place;
    best = all[i] < best ? all[i] : best;
    next_best = larger < next_best ? larger : next_best;
  }
  second = next_best;
  return place;
}

class Sweep {
 public:
  Sweep(TraceFile& file, const SweepOptions& options);
  SweepResult run();

 private:
  void merge();
  void activate(const StreamIndex& stream);
  void run_thread(Thread& thread, uint64_t limit);
  bool read_next(Thread& thread) { return thread.reader->next_quickly() || read_next_slowly(thread); }
  bool read_next_slowly(Thread& thread);
  void learn_names();
  bool learn_name(uint64_t id);
  bool accepts_chunk(Thread& thread);
  void insert(size_t slot, uint32_t stream);
  void finish(size_t slot);
  void renumber();
  void skip_chunk(size_t slot);
  void step_devices();

  void apply(Thread& thread, StreamReader& reader);
  void open(Thread& thread, uint32_t id, bool is_recorded);
  void open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded);
  void close(Thread& thread);
  static size_t frames_in_common(const Thread& thread);
  void match_open_frames(Thread& thread);
  void note_progress(const Progress& record);
  void note_task(StreamReader& reader);
  uint64_t waiting_ticks(const Thread& thread, const BlockedGap& gap) const;
  void begin_gap(Thread& thread);
  void end_gap(Thread& thread);
  uint32_t innermost_boundary(const Thread& thread);

  void advance(uint64_t ticks) {
    if (ticks > end_) ticks = end_;
    if (ticks > now_) {
      *cell_ += ticks - now_;
      now_ = ticks;
    }
  }
  // To a record of the thread. `closes`: the record ends the innermost frame; else it begins `id`, or is another with 0.
  void advance(Thread& thread, uint64_t ticks, bool closes, uint32_t id) {
    if (__builtin_expect(is_observed_, 0)) return advance_observed(thread, ticks, closes, id);
    advance(ticks);
  }
  void advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id);
  void advance_slowly(uint64_t ticks);
  void give(Thread& thread, uint8_t category, uint64_t ticks);

  Scope scope_of(const Thread& thread) const { return thread.scope ? thread.scope : main_->scope; }
  uint64_t key_of(const Thread& thread, uint8_t category) const {
    return kOwnerRank[scope_of(thread) == 0][category] << 32 | thread.slot;
  }
  uint64_t owner_key(const Thread& thread) const;
  void sort_sharing();
  BreakdownPlace place_of(const Thread& thread, uint8_t category) const;
  void set_cell() {
    uint64_t boundary = owner_->boundary;
    if (__builtin_expect((boundary | cell_is_rare_) >= kFirstWait, 0)) return set_rare_cell();
    cell_ = &tables_.row(phase_, scope_of(*owner_)).ticks[static_cast<uint8_t>(boundary)];
  }
  bool is_launchs() const { return device_works_ && options_.gpu_attribution == GpuAttribution::kLaunch; }
  void set_rare_cell();
  WaitSum& wait_sum(uint32_t number);
  void wait_changed();
  void thread_changed(Thread& thread);
  void mark_loop(LoopMark mark);
  void note_busy(Thread& thread);
  void set_scope(Thread& thread, Scope scope);
  void phases_changed();
  // Ticks in the phase `evaluation` so far.
  uint64_t evaluated() const { return evaluated_ + (tables_.evaluates() ? now_ - evaluated_until_ : 0); }
  void choose_owner();
  void charge(Thread& thread);
  void charge_all();

  SweepResult result();

  TraceFile& file_;
  SweepOptions options_;
  std::optional<Correction> correction_;
  bool is_always_observed_;  // something is to be done at each record besides adding up
  bool is_observed_;         // the same, or the time is shared
  size_t window_bytes_;
  size_t most_rows_;  // of threads, and of waits
  uint64_t latest_;  // a record after it can only be damage
  bool catalog_is_final_ = false;
  SweepTables tables_;

  std::vector<const StreamIndex*> pending_;       // not yet begun, the latest first
  std::vector<std::unique_ptr<Thread>> threads_;  // by stream number, so that a tie goes to the lower one
  std::vector<uint64_t> next_ticks_;              // of threads_; kNever: no more records
  std::vector<uint64_t> owner_keys_;              // of threads_; the smallest is the owner's; kNever: takes no part
  Thread* main_;
  Thread* owner_;                 // of what the threads below leave
  std::vector<Thread*> sharing_;  // those that run for a part of a gap, in the order in which they own
  bool has_native_threads_ = false;  // a thread that runs no Python has called CUDA, or back into Python
  std::map<uint64_t, uint32_t> open_phases_;  // in the order in which they began
  uint64_t phases_opened_ = 0;
  uint32_t phase_ = 0;
  uint64_t evaluated_ = 0, evaluated_until_ = 0;  // in the phase `evaluation`, up to the last change of phase
  uint64_t evaluated_at_first_ = 0;               // report of progress
  bool device_works_ = false;
  uint64_t now_;
  uint64_t end_;
  uint64_t last_ticks_;
  uint64_t* cell_;
  WaitSum* wait_sum_ = nullptr;  // to which the time since wait_since_ belongs, while the process waits
  uint64_t wait_since_ = 0;
  bool waits_in_operation_ = false;  // since then
  size_t busy_ = 0;  // threads, while there are several
  uint64_t beside_ticks_ = 0;
  uint64_t beside_since_ = 0;  // while more than one is busy
  uint64_t threads_in_operations_ = 0;
  uint64_t cell_is_rare_ = 0;  // kFirstWait while a device works or a wait is to be added up, so that one look finds all
  std::map<uint32_t, StreamSummary> streams_;
  std::optional<ProgressSummary> progress_;
  TaskTable tasks_;

  std::optional<DeviceTimeline> devices_;
  uint64_t device_ticks_ = kNever;  // when something starts or ends on a device
  Scope launch_scope_ = 0;          // of the earliest started work, while a device works
};

Sweep::Sweep(TraceFile& file, const SweepOptions& options)
    : file_(file),
      options_(options),
      is_always_observed_(options.by_thread || options.costs),
      is_observed_(is_always_observed_) {
  if (options.costs) correction_.emplace(*options.costs);
  const FileHeader& header = file.header();
  size_t share = kWindowBudget / std::max<size_t>(file.streams().size(), 1);
  window_bytes_ = std::clamp(share, kSmallestWindow, kLargestWindow);
  most_rows_ = kRowsAlwaysAllowed + file.bytes() / kBytesPerRow;
  now_ = last_ticks_ = header.start_ticks;
  latest_ = file.latest_ticks();
  end_ = header.stop_ticks ? header.stop_ticks : options.limit_ticks;
  end_ = end_ ? std::max(end_, now_) : latest_;
  learn_names();
  for (const auto& [number, stream] : file.streams()) {
    pending_.push_back(&stream);
    streams_[number] = {number, stream.thread_id, 0};
  }
  std::stable_sort(pending_.begin(), pending_.end(), [](const StreamIndex* a, const StreamIndex* b) {
    return std::tie(a->first_ticks, a->stream) > std::tie(b->first_ticks, b->stream);
  });
  threads_.push_back(std::make_unique<Thread>(0, true));
  next_ticks_.push_back(kNever);
  owner_keys_.push_back(kNever);
  main_ = owner_ = threads_[0].get();
  main_->charged_until = main_->debt.run_down_until = now_;
  set_cell();
  devices_.emplace(file, now_, end_);
  device_ticks_ = devices_->next_ticks();
}

// ---- merge

SweepResult Sweep::run() {
  merge();
  last_ticks_ = std::max(last_ticks_, devices_->last_ticks());
  uint64_t end = file_.header().stop_ticks ? file_.header().stop_ticks : options_.limit_ticks;
  advance_slowly(end ? end : last_ticks_);
  if (options_.by_thread) charge_all();
  return result();
}

// Runs the stream with the earliest record until another one's turn comes. At the same tick the lower stream is first.
void Sweep::merge() {
  for (;;) {
    uint64_t limit;
    size_t first = smallest(next_ticks_, limit);
    uint64_t first_ticks = next_ticks_[first];
    if (!pending_.empty() && pending_.back()->first_ticks <= first_ticks) {
      const StreamIndex& stream = *pending_.back();
      pending_.pop_back();
      activate(stream);
      continue;
    }
    if (device_ticks_ <= first_ticks && device_ticks_ != kNever) {
      step_devices();
      continue;
    }
    if (first_ticks == kNever) return;
    if (first_ticks > latest_) {
      skip_chunk(first);
      continue;
    }
    if (!pending_.empty()) limit = std::min(limit, pending_.back()->first_ticks);
    limit = std::min({limit, device_ticks_, latest_ + 1});
    run_thread(*threads_[first], limit);
  }
}

void Sweep::activate(const StreamIndex& stream) {
  size_t slot = 0;
  if (stream.stream != main_->stream) {
    while (slot < threads_.size() && threads_[slot]->stream < stream.stream) slot++;
    insert(slot, stream.stream);
  }
  Thread& thread = *threads_[slot];
  thread.reader.emplace(file_, stream, window_bytes_);
  if (thread.reader->next()) {
    next_ticks_[slot] = thread.reader->ticks();
  } else {
    finish(slot);
  }
}

[[gnu::always_inline]] inline void Sweep::run_thread(Thread& thread, uint64_t limit) {
  StreamReader& reader = *thread.reader;
  do {
    apply(thread, reader);
    if (__builtin_expect(!read_next(thread), 0)) {
      finish(thread.slot);
      return;
    }
  } while (reader.ticks() < limit);
  next_ticks_[thread.slot] = reader.ticks();
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
    next_ticks_[slot] = reader.ticks();
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
  if (works != device_works_) {
    if (options_.by_thread) charge_all();
    device_works_ = works;
    cell_is_rare_ = kFirstWait;
  }
  if (works && options_.gpu_attribution == GpuAttribution::kLaunch) {
    const LaunchEntry& launch = file_.launches()[devices_->launch()];
    if (launch.operation && !tables_.knows_name(launch.operation)) learn_names();
    launch_scope_ = tables_.scope_of(launch);
  }
  set_cell();
}

void Sweep::insert(size_t slot, uint32_t stream) {
  auto at = static_cast<std::ptrdiff_t>(slot);
  threads_.insert(threads_.begin() + at, std::make_unique<Thread>(stream, false));
  next_ticks_.insert(next_ticks_.begin() + at, kNever);
  owner_keys_.insert(owner_keys_.begin() + at, kNever);
  renumber();
}

// A thread that ended with frames open keeps its place to the end.
void Sweep::finish(size_t slot) {
  Thread& thread = *threads_[slot];
  if (thread.reader->ticks() <= latest_) last_ticks_ = std::max(last_ticks_, thread.reader->ticks());
  streams_[thread.stream].events = thread.events;
  next_ticks_[slot] = kNever;
  thread.reader.reset();
  if (thread.takes_part()) return;
  if (correction_) correction_->settle(thread.debt);
  auto at = static_cast<std::ptrdiff_t>(slot);
  threads_.erase(threads_.begin() + at);
  next_ticks_.erase(next_ticks_.begin() + at);
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
  const std::vector<uint32_t>& open_frames = reader.open_frames();
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

[[gnu::always_inline]] inline void Sweep::apply(Thread& thread, StreamReader& reader) {
  if (__builtin_expect(reader.type() == RecordType::kBegin, 1)) {
    uint64_t id = reader.take_id();
    if (__builtin_expect(!tables_.knows_name(id), 0) && !learn_name(id)) {
      reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of events");
      return;
    }
    advance(thread, reader.ticks(), false, static_cast<uint32_t>(id));
    open(thread, static_cast<uint32_t>(id), true);
  } else if (__builtin_expect(reader.type() == RecordType::kEnd, 1)) {
    if (__builtin_expect(thread.frames.depth() == 0, 0)) {
      reader.reject("an end with nothing open");
      return;
    }
    advance(thread, reader.ticks(), true, 0);
    close(thread);
  } else if (reader.type() == RecordType::kProgress) {
    advance(thread, reader.ticks(), false, 0);
    note_progress(reader.progress());
  } else if (reader.type() == RecordType::kTask) {
    advance(thread, reader.ticks(), false, 0);
    note_task(reader);
  } else if (reader.type() == RecordType::kBlocked) {
    advance(thread, reader.ticks(), false, 0);
    if (thread.gap) end_gap(thread);
  } else if (accepts_chunk(thread)) {
    advance(thread, reader.ticks(), false, 0);
    if (correction_ && now_ == reader.ticks()) correction_->charge_ticks(thread.debt, reader.switch_ticks(), now_);
    match_open_frames(thread);
  }
}

// A frame that is not recorded is one that a chunk's header says is open; its begin was lost.
[[gnu::always_inline]] inline void Sweep::open(Thread& thread, uint32_t id, bool is_recorded) {
  SweepTables::NameState& name = tables_.name(id);
  name.count += is_recorded;
  thread.events += is_recorded;
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    uint64_t boundary = name.category;
    if (__builtin_expect(boundary == kWait, 0)) {
      boundary |= uint64_t{name.number} << kWaitShift;
      if (is_recorded) wait_sum(name.number).count++;
    }
    open_boundary(thread, name, is_recorded);
    thread.frames.push(thread.boundary, id);
    thread.boundary = boundary;
    thread.boundaries++;
    thread_changed(thread);
    return;
  }
  if (thread.boundaries == 0) thread.runs_python = true;
  if (name.kind == NameKind::kOperation) {
    Scope before = thread.scope;
    thread.frames.push(before, id);
    set_scope(thread, SweepTables::inner_scope(before, name));
  } else {
    thread.frames.push(phases_opened_, id);
    open_phases_[phases_opened_++] = name.number;
    tables_.begin_phase(name.number, now_);
    phases_changed();
  }
}

// Counts the transition, if it is one.
inline void Sweep::open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded) {
  uint8_t from = thread.category();
  if (__builtin_expect(!thread.runs_python && thread.boundaries == 0, 0)) {
    // Only native code can be what calls CUDA or back into Python on a thread that has shown no Python of its own.
    if (name.category == kPython || name.category == kCuda || name.category == kCudaWait) {
      from = owner_->gap ? owner_->gap->category() : owner_->category();
      has_native_threads_ = true;
    } else {
      thread.runs_python = true;
    }
  }
  if (from == name.category || !is_recorded) return;
  tables_.count_transition(scope_of(thread), from, name.category);
}

[[gnu::always_inline]] inline void Sweep::close(Thread& thread) {
  const Frame& frame = thread.frames.pop();
  const SweepTables::NameState& name = tables_.name(frame.id);
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    thread.boundary = frame.saved;
    thread.boundaries--;
    thread_changed(thread);
  } else if (name.kind == NameKind::kOperation) {
    set_scope(thread, static_cast<Scope>(frame.saved));
  } else {
    open_phases_.erase(frame.saved);
    tables_.end_phase(name.number, now_);
    phases_changed();
  }
}

// How many of a thread's frames, from the outermost, are the ones that the chunk's header names.
size_t Sweep::frames_in_common(const Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->open_frames();
  size_t limit = std::min(open_frames.size(), thread.frames.depth());
  size_t same = 0;
  while (same < limit && thread.frames[same].id == open_frames[same]) same++;
  return same;
}

// Where the header of a chunk differs from what was read before it, the header holds.
void Sweep::match_open_frames(Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->open_frames();
  size_t same = frames_in_common(thread);
  while (thread.frames.depth() > same) close(thread);
  for (size_t i = same; i < open_frames.size(); i++) open(thread, open_frames[i], false);
  thread.is_fresh = false;
}

void Sweep::note_progress(const Progress& record) {
  mark_loop(LoopMark::kProgress);
  if (!progress_) {
    progress_.emplace();
    progress_->first_ticks = now_;
    progress_->first_timesteps = record.timesteps;
    evaluated_at_first_ = evaluated();
  }
  progress_->iterations += !record.is_baseline;
  progress_->last_ticks = now_;
  progress_->last_timesteps = record.timesteps;
  progress_->evaluation_ticks = evaluated() - evaluated_at_first_;
  if (record.total_timesteps) progress_->total_timesteps = record.total_timesteps;
  if (record.is_baseline && !progress_->baseline_timesteps) progress_->baseline_timesteps = record.timesteps;
}

void Sweep::note_task(StreamReader& reader) {
  uint32_t id = reader.task().operation;
  if ((tables_.knows_name(id) || learn_name(id)) && tables_.name(id).kind == NameKind::kOperation) {
    tasks_.add(reader.task());
  } else {
    reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of operations");
  }
}

// ---- gaps in which a thread was blocked

// A backend or a simulator may compute in other threads while the one that called it is blocked. What threads did that have
// no stream is known; what those did between their records that have one and run no Python is not.
uint64_t Sweep::waiting_ticks(const Thread& thread, const BlockedGap& gap) const {
  uint8_t category = thread.category();
  if (category == kPython) return gap.blocked_ticks;
  bool may_be_helped = category == kSimulator || category == kBackend;
  return may_be_helped && !has_native_threads_ ? gap.blocked_ticks - gap.helped_ticks : 0;
}

// The name of the boundary; 0: the thread is in none.
uint32_t Sweep::innermost_boundary(const Thread& thread) {
  for (size_t i = thread.frames.depth(); i > 0; i--) {
    uint32_t id = thread.frames[i - 1].id;
    if (tables_.name(id).kind == NameKind::kBoundary) return id;
  }
  return 0;
}

// To all but those that ask how much of it the thread ran, the gap is a wait.
void Sweep::begin_gap(Thread& thread) {
  const BlockedGap& gap = thread.reader->blocked_gap();
  uint64_t waiting = waiting_ticks(thread, gap);
  if (waiting == 0 || !thread.takes_part()) return;
  thread.gap = {gap.start_ticks, gap.ticks, waiting, thread.boundary};
  uint32_t number = tables_.wait_number(innermost_boundary(thread));
  wait_sum(number).count++;
  thread.boundary = kWait | uint64_t{number} << kWaitShift;
  if (thread.gap->runs()) {
    sharing_.push_back(&thread);
    sort_sharing();
    is_observed_ = true;
  }
  thread_changed(thread);
}

void Sweep::end_gap(Thread& thread) {
  thread.boundary = thread.gap->boundary;
  thread.gap.reset();
  sharing_.erase(std::remove(sharing_.begin(), sharing_.end(), &thread), sharing_.end());
  is_observed_ = is_always_observed_ || !sharing_.empty();
  thread_changed(thread);
}

void Sweep::sort_sharing() {
  std::sort(sharing_.begin(), sharing_.end(), [this](const Thread* a, const Thread* b) {
    return key_of(*a, a->gap->category()) < key_of(*b, b->gap->category());
  });
}

// ---- who owns the instant

inline uint64_t Sweep::owner_key(const Thread& thread) const {
  uint64_t key = key_of(thread, thread.category());
  return thread.takes_part() ? key : kNever;
}

// While there is only one thread its key is not needed, so not kept.
[[gnu::always_inline]] inline void Sweep::thread_changed(Thread& thread) {
  if (owner_keys_.size() > 1) {
    uint64_t before = owner_keys_[thread.slot];
    uint64_t key = owner_key(thread);
    owner_keys_[thread.slot] = key;
    note_busy(thread);
    // Among few, looking at all is cheaper than branches that depend on how the threads interleave.
    if (owner_keys_.size() <= kFewThreads || (&thread == owner_ && key > before)) {
      choose_owner();
    } else if (key < owner_keys_[owner_->slot]) {
      owner_ = &thread;
    }
  }
  set_cell();
}

// Where a device works and the process waits, the time can be that of the operation which launched the work.
BreakdownPlace Sweep::place_of(const Thread& thread, uint8_t category) const {
  Scope scope = is_launchs() && is_blocked(category) ? launch_scope_ : scope_of(thread);
  return {phase_, scope, static_cast<uint8_t>(category + (device_works_ ? kDeviceWorks : 0))};
}

void Sweep::set_rare_cell() {
  wait_changed();
  BreakdownPlace place = place_of(*owner_, owner_->category());
  cell_ = &tables_.row(place.phase, place.scope).ticks[place.cell];
  cell_is_rare_ = device_works_ || wait_sum_ ? kFirstWait : 0;
}

WaitSum& Sweep::wait_sum(uint32_t number) {
  WaitSum& sum = tables_.wait(phase_, number);
  if (__builtin_expect(tables_.wait_rows() > most_rows_, 0)) {
    file_.refuse("it waits in more than " + std::to_string(most_rows_) +
                 " pairs of phase and function, which cannot be for a file of its size; record the run again");
  }
  return sum;
}

// The process begins or ends to wait, or goes on with it in another boundary, phase or operation.
void Sweep::wait_changed() {
  if (wait_sum_) {
    tables_.add_wait(*wait_sum_, now_ - wait_since_, waits_in_operation_);
  }
  uint64_t wait = owner_->boundary >> kWaitShift;
  wait_sum_ = wait ? &wait_sum(static_cast<uint32_t>(wait)) : nullptr;
  wait_since_ = now_;
  waits_in_operation_ = scope_of(*owner_) != 0;
}

inline void Sweep::choose_owner() {
  uint64_t best = owner_keys_[0];
  for (size_t slot = 1; slot < owner_keys_.size(); slot++) best = std::min(best, owner_keys_[slot]);
  owner_ = threads_[static_cast<uint32_t>(best)].get();
}

// All time up to now is to be added up before.
void Sweep::mark_loop(LoopMark mark) {
  if (wait_sum_) wait_changed();
  tables_.mark_loop(mark);
}

// To be called whenever a thread may have become busy or ceased to be.
inline void Sweep::note_busy(Thread& thread) {
  bool is_busy = thread.scope != 0 && !tables_.is_for_thread(thread.boundary >> kWaitShift);
  if (is_busy == thread.is_busy) return;
  if (busy_ > 1) beside_ticks_ += now_ - beside_since_;
  beside_since_ = now_;
  thread.is_busy = is_busy;
  if (is_busy) {
    busy_++;
  } else {
    busy_--;
  }
}

void Sweep::set_scope(Thread& thread, Scope scope) {
  Scope before = thread.scope;
  if (before == 0) {
    bool is_loop = static_cast<Stage>(scope % kStages) == Stage::kTrainingLoop;
    thread.outermost = is_loop ? LoopMark::kTrainingLoop : LoopMark::kOperation;
    threads_in_operations_ += !thread.was_in_operation;
    thread.was_in_operation = true;
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
  phase_ = open_phases_.empty() ? 0 : open_phases_.rbegin()->second;
  evaluated_ = evaluated();
  evaluated_until_ = now_;
  tables_.enter_phase(phase_);
  set_cell();
}

// Adds the time since a thread's last change to the thread's own view. To be called before each change.
void Sweep::charge(Thread& thread) {
  if (thread.takes_part() && now_ > thread.charged_until) {
    Row& row = tables_.thread_row(thread.stream, phase_, scope_of(thread));
    size_t first = device_works_ ? kDeviceWorks : 0;
    uint64_t ran = thread.gap ? thread.gap->ran_between(thread.charged_until, now_) : 0;
    row.ticks[first + thread.category()] += now_ - thread.charged_until - ran;
    if (thread.gap) row.ticks[first + thread.gap->category()] += ran;
    if (tables_.thread_rows() > most_rows_) {
      file_.refuse("by thread it has more than " + std::to_string(most_rows_) +
                   " rows, which cannot be for a file of its size; analyze it without --by thread");
    }
  }
  thread.charged_until = now_;
}

void Sweep::advance_observed(Thread& thread, uint64_t ticks, bool closes, uint32_t id) {
  advance_slowly(ticks);
  if (options_.by_thread) charge(thread);
  if (!correction_ || now_ != ticks) return;  // the record lies outside the process's time
  if (closes) {
    correction_->charge_end(thread.debt, thread.frames[thread.frames.depth() - 1].id, now_);
  } else if (id != 0) {
    correction_->charge_begin(thread.debt, id, now_);
  }
}

// Of threads that run for a part of the time, each takes that part, in the order in which they own, while there is time
// left; the rest is the owner's.
void Sweep::advance_slowly(uint64_t ticks) {
  uint64_t until = std::min(ticks, end_);
  if (until <= now_) return;
  uint64_t left = until - now_;
  for (Thread* thread : sharing_) {
    if (left == 0 || key_of(*thread, thread->gap->category()) > owner_key(*owner_)) break;
    uint64_t taken = std::min(left, thread->gap->ran_between(now_, until));
    give(*thread, thread->gap->category(), taken);
    left -= taken;
  }
  give(*owner_, owner_->category(), left);
  wait_since_ += until - now_ - left;
  now_ = until;
}

void Sweep::give(Thread& thread, uint8_t category, uint64_t ticks) {
  if (ticks == 0) return;
  BreakdownPlace place = place_of(thread, category);
  tables_.row(place.phase, place.scope).ticks[place.cell] += ticks;
  // What a thread waits for would not have come earlier without its overhead.
  if (!correction_ || category == kWait) return;
  correction_->run_down(thread.debt, now_, now_ + ticks, place, is_launchs() ? launch_scope_ : scope_of(thread));
}

void Sweep::charge_all() {
  for (const auto& thread : threads_) charge(*thread);
}

SweepResult Sweep::result() {
  SweepResult result;
  result.start_ticks = file_.header().start_ticks;
  result.end_ticks = now_;
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
  tables_.write(file_.names(), result);
  result.tasks = tasks_.rows(file_.names());
  tables_.write_devices(file_, *devices_, result);
  if (correction_) {
    for (const auto& thread : threads_) correction_->settle(thread->debt);
    tables_.write_overhead(file_.names(), *correction_, result);
  }
  return result;
}

}  // namespace

SweepResult sweep(TraceFile& file, const SweepOptions& options) { return Sweep(file, options).run(); }

}  // namespace rlscope
