// Start, stop and fork of a recording; the tables that all threads of the process share.
#include "session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

namespace rlscope {

__thread StreamWriter* t_writer = nullptr;
std::atomic<bool> Session::is_recording_{false};
std::atomic<bool> Session::is_armed_{false};

namespace {

struct Name {
  NameKind kind;
  Category category;
  std::string text;
};

// Leaked on purpose: daemon threads may come here while the process is being torn down.
struct State {
  std::mutex mutex;  // guards all of this
  ProcessFile* file = nullptr;
  std::vector<StreamWriter*> writers;
  uint32_t next_stream = 0;
  std::vector<Name> names;            // a name's id is its position + 1
  std::vector<StreamWriter::Frame> inherited;  // operations open where this process was forked off, outermost first
  bool has_failed = false;
  // Of earlier recordings: never freed, because a call that began then compares its writer's address when it returns.
  std::vector<StreamWriter*> retired_writers;
  std::vector<ProcessFile*> retired_files;
  pthread_key_t thread_exit;
};
State& state() {
  static State* state = new State;
  return *state;
}

}  // namespace

void Session::install_handlers() {
  static const bool is_installed = [] {
    pthread_key_create(&state().thread_exit, on_thread_exit);
    pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
    return true;
  }();
  (void)is_installed;
}

void Session::arm() {
  install_handlers();
  is_armed_ = true;
}

int Session::start(const std::string& directory) {
  install_handlers();
  State& s = state();
  std::vector<StreamWriter::Frame> inherited;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (is_recording_) return EALREADY;
    int error = 0;
    ProcessFile* file = ProcessFile::create(directory, error);
    if (!file) return error;
    for (size_t i = 0; i < s.names.size() && !error; i++) {
      error = file->write_name(static_cast<uint32_t>(i + 1), s.names[i].kind, s.names[i].category, s.names[i].text);
    }
    if (error) return error;
    s.file = file;
    s.next_stream = 0;
    inherited.swap(s.inherited);
    is_recording_ = true;
    is_armed_ = false;
    for (StreamWriter* armed : s.writers) armed->go_live();
  }
  StreamWriter* writer = Session::writer();
  if (!writer || !writer->make_live()) return EIO;
  // Making the file took time that is not the program's.
  s.file->header().start_ticks = writer->last_ticks();
  for (const StreamWriter::Frame& frame : inherited) {
    if (writer->begin(encode_id(frame.id))) writer->frame(writer->depth() - 1).is_stage = frame.is_stage;
  }
  return 0;
}

void Session::stop(EndReason reason, int32_t exit_status) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  is_armed_ = false;
  for (StreamWriter* writer : s.writers) writer->close(true);
  s.writers.clear();
  if (!is_recording_) return;
  is_recording_ = false;
  s.file->finish(s.has_failed ? EndReason::kFailed : reason, exit_status);
  s.retired_files.push_back(s.file);
  s.file = nullptr;
  s.has_failed = false;
}

bool Session::assign_stream(ProcessFile*& file, uint32_t& stream) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.file) return false;
  file = s.file;
  stream = s.next_stream++;
  return true;
}

StreamWriter* Session::attach() {
  if (!is_recording() && !is_armed_) return nullptr;
  State& s = state();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.has_failed) {
      count_dropped();
      return nullptr;
    }
  }
  // Outside the lock: making the first chunk may fail, and failing takes the lock.
  auto* writer = new StreamWriter(static_cast<uint64_t>(syscall(SYS_gettid)));
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
}

void Session::on_thread_exit(void* pointer) {
  auto* writer = static_cast<StreamWriter*>(pointer);
  t_writer = nullptr;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto found = std::find(s.writers.begin(), s.writers.end(), writer);
  if (found != s.writers.end()) {  // else the recording ended before the thread
    s.writers.erase(found);
    writer->close(true);
  }
  writer->release_frames();
  delete writer;
}

CodedId Session::intern(NameKind kind, Category category, std::string_view name) {
  State& s = state();
  int error = 0;
  uint32_t id;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.names.push_back({kind, category, std::string(name)});
    id = static_cast<uint32_t>(s.names.size());
    if (s.file && !s.has_failed) error = s.file->write_name(id, kind, category, name);
  }
  if (error) fail(error);
  return encode_id(id);
}

NameKind Session::kind_of(uint32_t id) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.names[id - 1].kind;
}

void Session::write_properties(std::string_view json) {
  State& s = state();
  int error = 0;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.file && !s.has_failed) error = s.file->write_properties(json);
  }
  if (error) fail(error);
}

std::string Session::path() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.file ? s.file->path() : std::string();
}

void Session::fail(int error) {
  State& s = state();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.has_failed || !s.file) return;
    s.has_failed = true;
    s.file->header().stop_errno = static_cast<uint32_t>(error);
    s.file->header().end_reason = EndReason::kFailed;
  }
  char message[256];
  int size = std::snprintf(message, sizeof message,
                           "rlscope: recording of process %d stopped: %s. The program goes on; what is lost is counted.\n",
                           static_cast<int>(getpid()), std::strerror(error));
  if (write(STDERR_FILENO, message, static_cast<size_t>(size)) < 0) errno = 0;
}

void Session::count_dropped() {
  ProcessFile* file = state().file;
  if (file) __atomic_fetch_add(&file->header().dropped_records, 1, __ATOMIC_RELAXED);
}

void Session::count_misnested(uint64_t operations) {
  ProcessFile* file = state().file;
  if (file) __atomic_fetch_add(&file->header().misnested_operations, operations, __ATOMIC_RELAXED);
}

void Session::on_chunk_change() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);  // two threads may change chunks at once, and a pair belongs together
  if (s.file) s.file->header().last_pair = read_clock_pair();
}

void Session::prepare_fork() { state().mutex.lock(); }

void Session::after_fork_in_parent() { state().mutex.unlock(); }

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
  pthread_setspecific(s.thread_exit, nullptr);
  s.retired_writers.insert(s.retired_writers.end(), s.writers.begin(), s.writers.end());
  s.writers.clear();
  if (s.file) {
    s.file->abandon();
    s.retired_files.push_back(s.file);
    s.file = nullptr;
  }
  is_recording_ = false;
  is_armed_ = false;
  s.mutex.unlock();
}

}  // namespace rlscope
