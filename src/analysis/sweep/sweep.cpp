// The merge of a process's streams in order of time, and what each record changes.
#include "sweep.h"

#include <algorithm>
#include <memory>
#include <string>

#include "process_sweep.h"

namespace rlscope {

Sweep::Sweep(TraceFile& file, const SweepOptions& options)
    : file_(file),
      options_(options),
      limit_(file),
      first_numbered_(options.borders ? kPython : kWait),
      tables_(options.borders != nullptr, !file.device_chunks().empty()),
      threads_(file, options.window_bytes, options.decodes_ahead),
      owner_(threads_.main()),
      phases_(tables_),
      time_(options, file.header().start_ticks, end_ticks(file, options), limit_, tables_, owner_, devices_, phases_),
      names_(file, tables_, time_.correction() ? &*time_.correction() : nullptr),
      devices_(file, since_ticks(file, options), end_ticks(file, options), is_window() ? since_ticks(file, options) : 0,
               options.gpu_attribution == GpuAttribution::kLaunch),
      stacks_(file, tables_, limit_, since_ticks(file, options)),
      reports_(options.borders != nullptr) {
  time_.set_rare_cell();
}

// ---- merge

SweepResult Sweep::run() {
  time_.detail() ? merge<true>(kNever) : merge<false>(window_end());
  end();
  return result();
}

bool Sweep::run_until(uint64_t ticks) {
  merge<false>(ticks);
  if (next_record_ticks() != kNever) return true;
  end();
  return false;
}

uint64_t Sweep::next_record_ticks() const {
  return std::min({threads_.next_record_ticks(), devices_.next_ticks(), stacks_.next_ticks(), threads_.next_begin_ticks()});
}

// Up to the records at `until`. Runs the stream with the earliest record until another one's turn comes.
template <bool kWithDetail>
void Sweep::merge(uint64_t until) {
  const uint64_t latest = file_.latest_ticks();  // a record after it can only be damage
  for (;;) {
    uint64_t first_ticks = threads_.next_record_ticks();
    uint64_t begin_ticks = threads_.next_begin_ticks();
    uint64_t device_ticks = devices_.next_ticks(), stack_ticks = stacks_.next_ticks();
    if (begin_ticks <= first_ticks && begin_ticks < until) {
      begin_thread();
    } else if (device_ticks <= std::min(first_ticks, stack_ticks) && device_ticks < until) {
      step_devices();
    } else if (stack_ticks <= first_ticks && stack_ticks < until) {
      step_stacks();
    } else if (std::min({first_ticks, device_ticks, stack_ticks}) >= until) {
      return;
    } else {
      auto [thread, limit] = threads_.next();
      if (first_ticks > latest) {
        skip_chunk(*thread);
      } else {
        run_thread<kWithDetail>(*thread, std::min({limit, device_ticks, stack_ticks, latest + 1, until}));
      }
    }
  }
}

void Sweep::begin_thread() {
  Thread& thread = threads_.begin();
  set_threads();
  thread.runs_python |= native_threads_.shows_python(thread.stream);
  read_first(thread);
}

void Sweep::read_first(Thread& thread) {
  if (thread.reader->next()) {
    threads_.wait(thread);
  } else {
    finish(thread);
  }
}

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::run_thread(Thread& thread, uint64_t limit) {
  StreamReader& reader = *thread.reader;
  do {
    bool is_leaf = reader.is_followed_by_end(limit) && time_.is_usual<kWithDetail>() && pass_leaf<kWithDetail>(thread, reader);
    if (!is_leaf) apply<kWithDetail>(thread, reader);
    if (__builtin_expect(!read_next(thread), 0)) {
      finish(thread);
      return;
    }
  } while (reader.ticks() < limit);
  threads_.wait(thread);
}

// The next record is known before time goes on to it: where it says that the thread was blocked, that is from now on.
bool Sweep::read_next_slowly(Thread& thread) {
  StreamReader& reader = *thread.reader;
  if (!reader.next_slowly()) return false;
  if (reader.type() == RecordType::kAbsent && reader.ticks() <= file_.latest_ticks()) begin_gap(thread);
  return true;
}

void Sweep::skip_chunk(Thread& thread) {
  thread.reader->reject("a record lies years after the start of the recording");
  read_first(thread);
}

void Sweep::finish(Thread& thread) {
  std::unique_ptr<Thread> ended = threads_.end(thread);
  if (!ended) return;
  if (time_.correction()) time_.correction()->settle(ended->debt);
  set_threads();
}

void Sweep::set_threads() {
  owner_.set_threads(threads_.in_order());
  for (Thread* thread : owner_.threads()) note_busy(*thread);
}

// What starts or ends on the devices at this tick.
void Sweep::step_devices() {
  time_.advance_slowly(devices_.next_ticks());
  size_t cells = devices_.cells();
  if (devices_.step(time_.now(), names_)) time_.devices_changed(cells);
  set_cell();
}

// Time that the process does not spend in Python on the stack's thread is not the stack's. In a native call it says who made it.
void Sweep::step_stacks() {
  SeenStack seen = stacks_.take();
  if (seen.ticks > end_ticks(file_, options_)) return;
  time_.advance_slowly(seen.ticks);
  if (seen.stack == kTornStack) return stacks_.lines().count_torn();
  Thread* thread = threads_.find(seen.thread_id);
  if (!thread) return;
  Scope scope = owner_.scope_of(*thread);
  if (thread->running_category() != kPython) {
    std::optional<uint32_t> phase;
    if (thread == &owner_.thread()) phase = phases_.number();
    return stacks_.see_call(*thread, scope, phase, seen.stack, time_.now());
  }
  if (owner_.has_part(*thread)) stacks_.lines().see(phases_.number(), scope, tables_.row(scope), seen.stack, tables_);
}

// How many of a thread's frames, from the outermost, are the ones that the chunk's header names.
static size_t frames_in_common(const Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->chunk_start().open_frames;
  size_t limit = std::min(open_frames.size(), thread.frames.depth());
  size_t same = 0;
  while (same < limit && thread.frames[same].id == open_frames[same]) same++;
  return same;
}

// Whether the chunk's header can be used.
bool Sweep::accepts_chunk(Thread& thread) {
  StreamReader& reader = *thread.reader;
  const std::vector<uint32_t>& open_frames = reader.chunk_start().open_frames;
  for (uint32_t id : open_frames) {
    if (names_.knows(id)) continue;
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

// A boundary that ends with the next record, where that changes nothing but times and counts: no frame is pushed for it.
template <bool kWithDetail>
[[gnu::always_inline]] inline bool Sweep::pass_leaf(Thread& thread, StreamReader& reader) {
  uint32_t id = reader.id();
  if (__builtin_expect(!tables_.knows_name(id), 0)) return false;
  SweepTables::NameState& name = tables_.name(id);
  if (__builtin_expect(name.kind != NameKind::kBoundary || is_blocked(name.category), 0)) return false;
  if (is_blocked(thread.category()) || !(thread.runs_python || thread.boundaries > 0)) return false;
  if (!owner_.remains(thread, name.category)) return false;
  name.count++;
  thread.events++;
  time_.advance(reader.ticks());
  Scope scope = owner_.scope_of(thread);
  if (thread.category() != name.category) tables_.count_transition(scope, thread.category(), name.category);
  uint64_t outer = thread.boundary;
  uint64_t* outer_cell = time_.cell();
  if (kWithDetail) {
    thread.boundary = name.category | uint64_t{name.number} << kWaitShift;
    if (&thread == &owner_.thread()) set_cell<true>();
    time_.count_call(thread, scope, &thread == &owner_.thread());
    thread.boundary = outer;
  } else if (&thread == &owner_.thread()) {
    time_.set_cell(&tables_.row(scope).ticks[name.category]);
  }
  reader.next_quickly();
  time_.advance(reader.ticks());
  if (!kWithDetail) {
    time_.set_cell(outer_cell);
  } else if (&thread == &owner_.thread()) {
    set_cell<true>();
  }
  return true;
}

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::apply(Thread& thread, StreamReader& reader) {
  if (__builtin_expect(reader.is_begin(), 1)) {
    uint32_t id = reader.id();
    if (__builtin_expect(!tables_.knows_name(id), 0) && !names_.knows(id)) {
      reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of events");
      return;
    }
    time_.advance(thread, reader.ticks(), false, id);
    open<kWithDetail>(thread, id, true);
  } else if (__builtin_expect(reader.is_end(), 1)) {
    if (__builtin_expect(thread.frames.depth() == 0, 0)) {
      reader.reject("an end with nothing open");
      return;
    }
    time_.advance(thread, reader.ticks(), true, 0);
    close<kWithDetail>(thread);
  } else if (reader.type() == RecordType::kAbsent) {
    time_.advance(thread, reader.ticks(), false, 0);
    if (thread.gap) end_gap(thread);
  } else if (reader.type() != RecordType::kChunkStart) {
    time_.advance(thread, reader.ticks(), false, 0);
    note(thread, reader);
  } else if (accepts_chunk(thread)) {
    time_.advance(thread, reader.ticks(), false, 0);
    time_.charge_switch(thread, reader.ticks(), reader.chunk_start().switch_ticks);
    match_open_frames(thread);
  }
}

// A frame that is not recorded is one that a chunk's header says is open; its begin was lost.
template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::open(Thread& thread, uint32_t id, bool is_recorded) {
  SweepTables::NameState& name = tables_.name(id);
  uint64_t now = time_.now();
  name.count += is_recorded;
  thread.events += is_recorded;
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    uint64_t boundary = name.category;
    if (kWithDetail || __builtin_expect(boundary >= first_numbered_, 0)) {
      boundary |= uint64_t{name.number} << kWaitShift;
      if (name.category == kWait && is_recorded) time_.count_wait(name.number);
      if (name.category == kCudaWait) stacks_.begin_sync(thread, owner_.scope_of(thread), id, is_recorded, now);
    }
    open_boundary(thread, name, is_recorded);
    if (__builtin_expect((boundary | thread.boundary) >= kFirstWait, 0)) pass_cpu_time(thread);
    thread.frames.push(thread.boundary, id, now);
    thread.boundary = boundary;
    thread.boundaries++;
    thread_changed<kWithDetail>(thread);
    if (kWithDetail && is_recorded) time_.count_call(thread, owner_.scope_of(thread), &thread == &owner_.thread());
    return;
  }
  if (thread.boundaries == 0) thread.runs_python = true;
  if (name.kind == NameKind::kOperation) {
    Scope before = thread.scope;
    thread.frames.push(before, id, now);
    thread.operation_starts.push_back({now, thread.no_core_until(now)});
    set_scope(thread, tables_.inner_scope(before, name));
    if (name.is_reset && thread.outermost == LoopMark::kSimulation) thread.outermost = LoopMark::kReset;
    if (is_recorded && !thread.is_fresh && !tables_.is_outside(thread.scope)) thread.unread.begin_operation();
  } else {
    phase_changes();
    thread.frames.push(phases_.begin({name.number, thread.stream, is_recorded}, now), id, now);
    phase_changed();
  }
}

// Counts the transition, if it is one.
[[gnu::always_inline]] inline void Sweep::open_boundary(Thread& thread, const SweepTables::NameState& name, bool is_recorded) {
  uint8_t from = thread.category();
  if (__builtin_expect(!thread.runs_python && thread.boundaries == 0, 0)) {
    if (is_called_by_native_code(name)) {
      from = owner_.thread().running_category();
      native_threads_.note_call();
    } else {
      thread.runs_python = true;
    }
  }
  if (from == name.category || !is_recorded) return;
  tables_.count_transition(owner_.scope_of(thread), from, name.category);
}

template <bool kWithDetail>
[[gnu::always_inline]] inline void Sweep::close(Thread& thread) {
  const Frame& frame = thread.frames.pop();
  const SweepTables::NameState& name = tables_.name(frame.id);
  if (__builtin_expect(name.kind == NameKind::kBoundary, 1)) {
    if (__builtin_expect((thread.boundary | frame.saved) >= kFirstWait, 0)) pass_cpu_time(thread);
    thread.boundary = frame.saved;
    thread.boundaries--;
    if (__builtin_expect(thread.frames.depth() == thread.watched_frame, 0)) stacks_.end_call(thread, time_.now());
    thread_changed<kWithDetail>(thread);
  } else if (name.kind == NameKind::kOperation) {
    if (!tables_.is_outside(thread.scope)) {
      OperationStart start = thread.operation_starts.back();
      uint64_t no_core_ticks = thread.no_core_until(time_.now()) - start.no_core_ticks;
      reports_.durations().add(thread.scope, time_.now() - start.ticks - no_core_ticks);
      if (time_.detail()) time_.detail()->end_operation(thread.scope, start.ticks, time_.now());
    }
    thread.operation_starts.pop_back();
    set_scope(thread, static_cast<Scope>(frame.saved));
  } else {
    phase_changes();
    phases_.end(frame.saved, time_.now());
    phase_changed();
  }
}

// Where the header of a chunk differs from what was read before it, the header holds.
void Sweep::match_open_frames(Thread& thread) {
  const std::vector<uint32_t>& open_frames = thread.reader->chunk_start().open_frames;
  size_t same = frames_in_common(thread);
  while (thread.frames.depth() > same) close<false>(thread);
  for (size_t i = same; i < open_frames.size(); i++) open<false>(thread, open_frames[i], false);
  if (thread.is_fresh) thread.unread.start(phases_.number(), thread.scope, time_.now());
  thread.is_fresh = false;
}

void Sweep::set_scope(Thread& thread, Scope scope) {
  pass_cpu_time(thread);
  bool was_outside = tables_.is_outside(thread.scope);
  if (was_outside != tables_.is_outside(scope)) {
    if (was_outside) {
      thread.outermost = tables_.mark_of(scope);
      busy_.begin_operation(thread);
      thread.sample_since = time_.now();
    }
    time_.mark_loop(thread.outermost, was_outside);
  }
  bool has_or_had_none = (thread.scope == 0) != (scope == 0);
  if (!thread.is_main || !owner_.has_several()) {
    thread.scope = scope;
    go_on_with_cpu_time(thread);
    thread_changed(thread);
    return;
  }
  // Threads without an operation of their own have the main thread's.
  time_.charge_all();
  thread.scope = scope;
  go_on_with_cpu_time(thread);
  note_busy(thread);
  if (has_or_had_none) owner_.scope_of_main_changed();
  set_cell();
}

void Sweep::phase_changes() {
  time_.charge_all();
  for (Thread* thread : owner_.threads()) pass_cpu_time(*thread);
}

void Sweep::phase_changed() {
  for (Thread* thread : owner_.threads()) go_on_with_cpu_time(*thread);
  if (time_.detail()) time_.detail()->enter_phase(phases_.number(), time_.now());
  set_cell();
}

// The name of the boundary; 0: the thread is in none.
uint32_t Sweep::innermost_boundary(const Thread& thread) {
  for (size_t i = thread.frames.depth(); i > 0; i--) {
    uint32_t id = thread.frames[i - 1].id;
    if (tables_.name(id).kind == NameKind::kBoundary) return id;
  }
  return 0;
}

// To all but those that ask how much of it the thread ran, or had no core, the gap is a wait if it waited at all.
void Sweep::begin_gap(Thread& thread) {
  const AbsentGap& gap = thread.reader->absent_gap();
  AbsentParts parts = native_threads_.parts_of(thread, gap);
  if (parts.waiting_ticks + parts.queued_ticks == 0 || !thread.takes_part()) return;
  pass_cpu_time(thread);
  thread.gap = {gap.start_ticks, gap.ticks, parts, thread.boundary};
  if (parts.waiting_ticks > 0 && thread.category() != kWait) {
    uint32_t number = tables_.wait_number(innermost_boundary(thread));
    time_.count_wait(number);
    thread.boundary = kWait | uint64_t{number} << kWaitShift;
  } else if (parts.waiting_ticks == 0) {
    thread.boundary += kNoCore;
  }
  if (thread.gap->is_shared()) {
    owner_.begin_gap(thread);
    time_.sharing_changed();
  }
  thread_changed(thread);
}

void Sweep::end_gap(Thread& thread) {
  pass_cpu_time(thread);
  thread.boundary = thread.gap->boundary;
  thread.no_core_ticks += thread.gap->no_core_until(time_.now());
  thread.gap.reset();
  owner_.end_gap(thread);
  time_.sharing_changed();
  thread_changed(thread);
}

namespace {

// For how long a thread has been in its innermost operation, as the half of a time tells that its frame keeps; 0: in none.
uint64_t ticks_in_operation(const Thread& thread, const SweepTables& tables, uint64_t now) {
  for (size_t depth = thread.frames.depth(); depth > 0; depth--) {
    const Frame& frame = thread.frames[depth - 1];
    if (tables.name(frame.id).kind == NameKind::kOperation) return static_cast<uint32_t>(now) - frame.began;
  }
  return 0;
}

}  // namespace

void Sweep::note(Thread& thread, StreamReader& reader) {
  constexpr NameKind kOperation = NameKind::kOperation;
  switch (reader.type()) {
    case RecordType::kProgress: return note_progress(reader.progress());
    case RecordType::kTask:
      if (expect_name(reader, reader.task().operation, kOperation)) reports_.add(reader.task());
      return;
    case RecordType::kSample:
      if (!expect_name(reader, reader.sample().name, kOperation)) return;
      return reports_.add(reader.sample(), thread, time_.now(), devices_.worked_ticks(time_.now()));
    case RecordType::kCollective:
      if (expect_name(reader, reader.collective().name, NameKind::kBoundary)) reports_.add(reader.collective(), reader.ticks());
      return;
    case RecordType::kTagged: return note_tagged(thread, reader);
    case RecordType::kMemory:
      return reports_.add(reader.memory(), owner_.scope_of(thread), ticks_in_operation(thread, tables_, time_.now()), time_.now());
    default: return;
  }
}

void Sweep::note_tagged(Thread& thread, StreamReader& reader) {
  if (auto cpu_time = reader.tagged().as<CpuTimeNumbers>()) {
    pass_cpu_time(thread);
    reports_.cpu_times().read(thread.unread, cpu_time->cpu_ns);
  } else if (auto message = reader.tagged().as<MessageNumbers>()) {
    if (expect_name(reader, message->wait, NameKind::kBoundary)) reports_.add(*message, owner_.scope_of(thread));
  }
}

// Of an operation, or of a wait; else the record is rejected.
bool Sweep::expect_name(StreamReader& reader, uint64_t id, NameKind kind) {
  bool is_operation = kind == NameKind::kOperation;
  auto known = static_cast<uint32_t>(std::min(id, uint64_t{kLargestName}));
  if (names_.knows(known) && tables_.name(known).kind == kind && (is_operation || tables_.name(known).category == kWait)) return true;
  reader.reject("the name with id " + std::to_string(id) + " is not in the catalog's names of " +
                (is_operation ? "operations" : "waits"));
  return false;
}

void Sweep::note_progress(const Progress& record) {
  uint64_t now = time_.now();
  time_.mark_loop(LoopMark::kProgress, false);
  reports_.add(record, now, phases_.evaluated(now));
  if (std::optional<Detail>& detail = time_.detail()) {
    detail->settle(now);
    detail->report_progress(now, record.is_baseline);
  }
  set_cell();
}

// ---- the end

void Sweep::end() {
  devices_.finish();
  threads_.stop();
  uint64_t end = file_.header().stop_ticks ? file_.header().stop_ticks : options_.limit_ticks;
  time_.advance_slowly(end ? end : last_ticks());
  time_.charge_all();
}

SweepResult Sweep::result() {
  SweepResult result;
  uint64_t now = time_.now();
  result.start_ticks = since_ticks(file_, options_);
  result.end_ticks = now;
  result.last_record_ticks = last_ticks();
  result.streams = threads_.streams();
  names_.learn();
  time_.wait_changed();
  for (const Thread* thread : owner_.threads()) {
    if (!tables_.is_outside(thread->scope)) time_.mark_loop(thread->outermost, false);
  }
  result.beside_ticks = busy_.ticks(now);
  result.threads_in_operations = busy_.in_operations();
  uint64_t devices = devices_.timeline().seen();
  if (!is_window() && devices) tables_.write_idle(file_.names(), devices, result);
  reports_.write(file_.names(), tables_, is_window(), result);
  stacks_.write(owner_.threads(), now, result);
  tables_.write(file_.names(), result);
  tables_.write_devices(file_, devices_.timeline(), result);
  if (std::optional<Correction>& correction = time_.correction()) {
    for (Thread* thread : owner_.threads()) correction->settle(thread->debt);
    tables_.write_overhead(file_.names(), *correction, result);
  }
  if (std::optional<Detail>& detail = time_.detail()) {
    detail->finish(now);
    tables_.write_detail(file_.names(), *detail, result);
    result.detail->samples = reports_.samples().spans(file_.names());
    result.detail->frames = stacks_.lines().frames(file_, tables_);
  }
  return result;
}

}  // namespace rlscope
