// Start, stop and fork of a recording; the tables that all threads of the process share.
#include "session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "name_facts.h"
#include "vocabulary.h"

namespace rlscope {

__thread StreamWriter* t_writer = nullptr;
std::atomic<bool> Session::is_armed_{false};

namespace {

struct Name {
  NameKind kind;
  Category category;
  std::string text;
};

void enter(Place& place, uint32_t id) {
  NameFacts facts = name_facts(id);
  if (!facts.is_operation) return;
  place.operation = id;
  place.stage = inner_stage(place.stage, static_cast<Stage>(facts.stage));
}

// The last launch site of this thread: most launch sites come from where the one before came from.
struct LastLaunchSite {
  uint64_t recording;
  Place place;
  uint32_t id;
};
__thread LastLaunchSite t_last_launch_site __attribute__((tls_model("initial-exec"))) = {};

// Leaked on purpose: daemon threads may come here while the process is being torn down.
struct State {
  std::mutex mutex;  // guards all of this
  ProcessFile* file = nullptr;
  std::vector<StreamWriter*> writers;
  uint32_t next_stream = 0;
  std::vector<Name> names;            // a name's id is its position + 1
  std::vector<StreamWriter::Frame> inherited;  // operations open where this process was forked off, outermost first
  // Of earlier recordings: never freed, because a call that began then compares its writer's address when it returns.
  std::vector<StreamWriter*> retired_writers;
  std::vector<ProcessFile*> retired_files;
  ProcessFile* resting_file = nullptr;  // of the recording that has paused; the next one takes it over
  std::atomic<bool> has_paused{false};   // the last recording ended before the process does
  ProcessFile* parents_file = nullptr;  // in a forked child that has no file yet
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, DeviceWriter*> device_writers;  // by device, context, CUDA stream
  std::map<std::tuple<uint32_t, uint32_t, Stage>, uint32_t> launch_sites;                // by thread, operation, stage
  std::atomic<uint64_t> recording{0};             // counts recordings
  std::atomic<StreamWriter*> main_writer{nullptr};
  StackWriter* stack_writer = nullptr;
  std::array<std::atomic<const SessionListener*>, kFollowers> listeners{};
  pthread_key_t thread_exit;

  template <typename Call>
  void tell(Call call) {
    for (const auto& place : listeners) {
      if (const SessionListener* listener = place) call(*listener);
    }
  }
};
State& state() {
  static State* state = new State;
  return *state;
}

Place place_seen_from_outside(const StreamWriter& writer) {
  Place place;
  uint32_t depth = writer.depth_seen_from_outside();
  for (uint32_t i = 0; i < depth; i++) enter(place, writer.name_seen_from_outside(i));
  return place;
}

}  // namespace

void Session::listen(Follower follower, const SessionListener& listener) {
  state().listeners[static_cast<size_t>(follower)] = &listener;
}

void Session::install_handlers() {
  static const bool is_installed = [] {
    pthread_key_create(&state().thread_exit, on_thread_exit);
    pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
    on_exit([](int status, void*) { note_exit(status); }, nullptr);
    return true;
  }();
  (void)is_installed;
}

void Session::arm() {
  install_handlers();
  is_armed_ = true;
  if (!state().inherited.empty()) open_inherited(writer());
}

// Opens again what was open where this process was forked off.
void Session::open_inherited(StreamWriter* writer) {
  std::vector<StreamWriter::Frame> inherited;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    inherited.swap(state().inherited);
  }
  for (const StreamWriter::Frame& frame : inherited) {
    if (!writer || !writer->begin(encode_id(frame.id))) continue;
    StreamWriter::Frame& opened = writer->frame(writer->depth() - 1);
    opened.is_stage = frame.is_stage;
    opened.leaves_stage = frame.leaves_stage;
  }
}

void Session::amplify(uint32_t times) {
  StreamWriter::amplification = times;
  if (t_writer && !t_writer->is_closed()) t_writer->set_end(t_writer->end_);
}

int Session::start(const std::string& directory) try {
  install_handlers();
  State& s = state();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (is_recording()) return EALREADY;
    if (!s.resting_file) s.resting_file = new ProcessFile(fail);
    ProcessFile* file = s.resting_file;
    int error = file->open_in(directory);
    for (size_t i = 0; i < s.names.size() && !error; i++) {
      error = file->write_name(static_cast<uint32_t>(i + 1), s.names[i].kind, s.names[i].category, s.names[i].text);
    }
    if (ProcessFile* parents = std::exchange(s.parents_file, nullptr)) {
      if (error) parents->tell_parent(error);
      parents->forget_parent();
    }
    if (error) return error;
    s.file = std::exchange(s.resting_file, nullptr);
    s.next_stream = 0;
    s.launch_sites.clear();
    s.recording++;
    Requests::set_recording(true);
    is_armed_ = s.has_paused = false;
    for (StreamWriter* armed : s.writers) armed->use_up_room();
  }
  StreamWriter* writer = Session::writer();
  if (!writer || !writer->begin_recording()) return s.file->stop_errno();
  // Making the file took time that is not the program's.
  s.file->begin_at(writer->last_ticks());
  s.main_writer = writer;
  open_inherited(writer);
  s.tell([](const SessionListener& listener) { listener.on_start(); });
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

// The file that this process records into, null where there is none. A process that was forked off by the system call
// itself, of which no handler was told, lets go of its parent's file here. The lock must be held.
ProcessFile* Session::file_of_this_process() {
  State& s = state();
  if (!s.file || s.file->pid() == static_cast<uint32_t>(getpid())) return s.file;
  s.file->note_copy();
  s.file->abandon();
  s.file->forget_parent();
  s.retired_files.push_back(std::exchange(s.file, nullptr));
  s.retired_writers.insert(s.retired_writers.end(), s.writers.begin(), s.writers.end());
  s.writers.clear();
  s.device_writers.clear();  // not deleted: the thread that writes them does not exist here
  s.stack_writer = nullptr;
  s.main_writer = nullptr;
  Requests::set_recording(false);
  return nullptr;
}

void Session::stop(EndReason reason) { end(reason, false); }
void Session::pause(EndReason reason) { end(reason, true); }

// In the file of the recording that goes on, or that ended because the process does.
void Session::note_exit(int32_t status) {
  State& s = state();
  ProcessFile* file = s.file ? s.file : s.resting_file;
  if (file && !s.has_paused && file->pid() == static_cast<uint32_t>(getpid())) file->note_exit(status);
}

void Session::end(EndReason reason, bool stays_armed) {
  State& s = state();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    file_of_this_process();  // in a copy no listener is told: it would wait for threads that only the original has
  }
  if (is_recording()) s.tell([](const SessionListener& listener) { listener.on_stop(); });
  std::lock_guard<std::mutex> lock(s.mutex);
  is_armed_ = stays_armed;
  s.main_writer = nullptr;
  for (StreamWriter* writer : s.writers) stays_armed ? writer->pause() : writer->close(true);
  if (!stays_armed) s.writers.clear();
  if (!is_recording()) return;
  for (auto& [queue, writer] : s.device_writers) {
    writer->close();
    delete writer;
  }
  s.device_writers.clear();
  if (s.stack_writer) s.stack_writer->close();
  delete std::exchange(s.stack_writer, nullptr);
  Requests::set_recording(false);
  s.resting_file = std::exchange(s.file, nullptr);  // nothing is counted in a header that has its checksum
  s.has_paused = stays_armed;
  s.resting_file->finish(reason);
}

// Makes a writer part of the recording; false while there is none.
bool Session::join(ProcessFile*& file, uint32_t& stream) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  file = file_of_this_process();
  if (!file) return false;
  stream = s.next_stream++;
  return true;
}

bool Session::has_failed() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  ProcessFile* file = file_of_this_process();
  return file && file->has_failed();
}

StreamWriter* Session::attach() try {
  State& s = state();
  if (has_failed()) {
    losses().count_dropped_records(1);
    return nullptr;
  }
  // Outside the lock: making the first chunk may fail, and failing takes the lock.
  auto* writer = new StreamWriter(static_cast<uint64_t>(syscall(SYS_gettid)), join);
  if (!writer->frames_) fail(errno);
  if (writer->is_closed()) return nullptr;
  std::lock_guard<std::mutex> lock(s.mutex);
  s.writers.push_back(writer);
  if (t_writer) {
    t_writer->release_frames();
    s.retired_writers.push_back(t_writer);
  }
  t_writer = writer;
  pthread_setspecific(s.thread_exit, writer);
  return writer;
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
  losses().count_dropped_records(1);
  return nullptr;
}

// What a call does that finds no writer which records.
StreamWriter* Session::begin_to_record() {
  if (Requests::are_news()) Requests::notice();
  if (!is_recording()) return nullptr;
  StreamWriter* writer = t_writer;
  if (!writer || writer->is_closed()) return attach();
  return writer->next_chunk() && writer->is_recording() ? writer : nullptr;
}

void Session::on_thread_exit(void* pointer) {
  auto* writer = static_cast<StreamWriter*>(pointer);
  t_writer = nullptr;
  State& s = state();
  int error = 0;
  std::unique_lock<std::mutex> lock(s.mutex);
  file_of_this_process();  // lets go of what is its parent's
  auto found = std::find(s.writers.begin(), s.writers.end(), writer);
  if (found != s.writers.end()) {  // else the recording ended before the thread
    s.writers.erase(found);
    error = writer->end_with_thread();
    writer->close(true);
  }
  writer->release_frames();
  if (writer->stream() == 0) {
    s.retired_writers.push_back(writer);  // other threads may be looking at where the main thread is
  } else {
    delete writer;
  }
  lock.unlock();
  if (error) fail(error);
}

CodedId Session::intern(NameKind kind, Category category, std::string_view name) {
  State& s = state();
  int error = 0;
  uint32_t id = 0;
  try {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.names.push_back({kind, category, std::string(name)});
    id = static_cast<uint32_t>(s.names.size());
    note_name(id, kind, category, name);
    ProcessFile* file = file_of_this_process();
    if (file && !file->has_failed()) error = file->write_name(id, kind, category, name);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  if (error) fail(error);
  return encode_id(id);
}

NameKind Session::kind_of(uint32_t id) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.names[id - 1].kind;
}

Stage Session::stage_of(uint32_t id) { return static_cast<Stage>(name_facts(id).stage); }

Place Session::place_of(StreamWriter& writer) {
  Place place;
  for (uint32_t i = 0; i < writer.depth(); i++) enter(place, writer.frame(i).id);
  return place;
}

uint32_t Session::launch_site() {
  StreamWriter* writer = Session::writer();
  if (!writer || !is_recording()) return 0;
  State& s = state();
  Place place = place_of(*writer);
  if (place.operation == 0 && writer->stream() != 0) {
    if (const StreamWriter* main = s.main_writer) place = place_seen_from_outside(*main);
  }
  LastLaunchSite& last = t_last_launch_site;
  if (last.recording != s.recording || last.place != place) {
    last = {s.recording, place, intern_launch_site(writer->stream(), place.operation, place.stage)};
  }
  return last.id;
}

uint32_t Session::unknown_launch_site() { return is_recording() ? intern_launch_site(kNoStream, 0, Stage::kNone) : 0; }

uint32_t Session::intern_launch_site(uint32_t stream, uint32_t operation, Stage stage) try {
  State& s = state();
  int error = 0;
  uint32_t id;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    ProcessFile* file = file_of_this_process();
    if (!file || file->has_failed()) return 0;
    auto [place, is_new] = s.launch_sites.try_emplace({stream, operation, stage}, s.launch_sites.size() + 1);
    id = place->second;
    if (is_new) error = file->write_launch_site({id, stream, operation, stage, {}});
  }
  if (error) fail(error);
  return id;
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
  return 0;
}

DeviceWriter* Session::device_writer(uint32_t device, uint32_t context, uint32_t cuda_stream) try {
  State& s = state();
  int error = 0;
  DeviceWriter* writer;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    ProcessFile* file = file_of_this_process();
    if (!file || file->has_failed()) return nullptr;
    auto [place, is_new] = s.device_writers.try_emplace({device, context, cuda_stream}, nullptr);
    if (is_new) {
      uint32_t stream = s.next_stream++;
      error = file->write_queue({stream, device, context, cuda_stream});
      place->second = new DeviceWriter(file, stream);
    }
    writer = place->second;
  }
  if (error) fail(error);
  return writer;
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
  return nullptr;
}

// Lets `write` add an entry to the catalog; false while nothing records.
template <typename Write>
bool Session::write_entry(Write write) try {
  int error = 0;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    ProcessFile* file = file_of_this_process();
    if (!file || file->has_failed()) return false;
    error = write(*file);
  }
  if (error) fail(error);
  return error == 0;
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
  return false;
}

void Session::write_properties(std::string_view json) {
  write_entry([&](ProcessFile& file) { return file.write_properties(json); });
}

bool Session::write_code(const CodeEntry& code, std::string_view name, std::string_view path) {
  return write_entry([&](ProcessFile& file) { return file.write_code(code, name, path); });
}

bool Session::write_stack(const StackEntry& stack) {
  return write_entry([&](ProcessFile& file) { return file.write_stack(stack); });
}

StackWriter* Session::stack_writer() try {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  ProcessFile* file = file_of_this_process();
  if (!file || file->has_failed()) return nullptr;
  if (!s.stack_writer) s.stack_writer = new StackWriter(file, s.next_stream++);
  return s.stack_writer;
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
  return nullptr;
}

void Session::look_at_threads(std::vector<SeenThread>& threads) try {
  threads.clear();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (const StreamWriter* writer : s.writers) {
    uint32_t depth = writer->depth_seen_from_outside();
    bool is_main = writer->stream() == 0;
    if (depth == 0 && !is_main) continue;
    uint32_t innermost = depth > 0 ? writer->name_seen_from_outside(depth - 1) : 0;
    const Name* name = innermost ? &s.names[innermost - 1] : nullptr;
    bool is_in_call = name && name->kind == NameKind::kBoundary && name->category != Category::kPython;
    threads.push_back({writer->thread_id_, is_main, is_in_call, writer->last_ticks_seen_from_outside()});
  }
} catch (const std::bad_alloc&) {
  fail(ENOMEM);
}

void Session::call_at_next_crossing(void (*function)()) {
  StreamWriter::at_next_crossing = function;
  if (t_writer && !t_writer->is_closed()) t_writer->limit_ = nullptr;
}

std::string Session::path() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  ProcessFile* file = file_of_this_process();
  return file ? file->path() : std::string();
}

void Session::fail(int error) {
  State& s = state();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    ProcessFile* file = file_of_this_process();
    if (!file || file->has_failed()) return;
    file->mark_failed(error);
    for (StreamWriter* writer : s.writers) writer->use_up_room();  // they may not use a name that the file has not
    if (!Requests::note_failure(error)) return;
  }
  char message[256];
  int size = std::snprintf(message, sizeof message,
                           "rlscope: recording of process %d stopped: %s. The program goes on; what is lost is counted.\n",
                           static_cast<int>(getpid()), std::strerror(error));
  if (write(STDERR_FILENO, message, static_cast<size_t>(size)) < 0) errno = 0;
}

Losses& Session::losses() {
  static Losses nobodys;
  ProcessFile* file = state().file;
  return file ? file->losses() : nobodys;
}

void Session::prepare_fork() {
  state().mutex.lock();
  BlockedMeter::prepare_fork();
}

void Session::after_fork_in_parent() {
  BlockedMeter::after_fork(/*is_child=*/false);
  state().mutex.unlock();
}

// The child shares the parent's mappings: it must not write one more record there. Its own recording is started by
// the Python side, because a child that only calls exec needs none.
void Session::after_fork_in_child() {
  State& s = state();
  s.inherited.clear();
  if (StreamWriter* writer = t_writer) {
    for (uint32_t i = 0; i < writer->depth(); i++) {
      const StreamWriter::Frame& frame = writer->frame(i);
      if (s.names[frame.id - 1].kind != NameKind::kBoundary && !frame.is_guess) s.inherited.push_back(frame);
    }
  }
  t_writer = nullptr;
  s.main_writer = nullptr;
  s.device_writers.clear();  // not deleted: the thread that writes them does not exist here
  if (s.stack_writer) s.stack_writer->abandon();  // its thread ended before the fork
  delete std::exchange(s.stack_writer, nullptr);
  pthread_setspecific(s.thread_exit, nullptr);
  for (StreamWriter* writer : s.writers) writer->abandon();  // else each of a chain of children would have all before it
  s.retired_writers.insert(s.retired_writers.end(), s.writers.begin(), s.writers.end());
  s.writers.clear();
  if (s.file) {
    s.file->abandon();
    s.retired_files.push_back(s.file);
    s.parents_file = std::exchange(s.file, nullptr);
  }
  Requests::set_recording(false);
  Requests::forget_failures();  // they were the parent's
  is_armed_ = false;
  BlockedMeter::after_fork(/*is_child=*/true);
  s.mutex.unlock();
  s.tell([](const SessionListener& listener) { listener.on_fork_in_child(); });
}

}  // namespace rlscope
