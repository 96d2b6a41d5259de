// Attaching to CUPTI and letting go of it: for recordings, other profilers, forks and the end of the process.
#include "collector.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "buffer_pool.h"
#include "call_recorder.h"
#include "cuda_calls.h"
#include "cupti_library.h"
#include "cupti_subscription.h"
#include "device_records.h"
#include "driver.h"
#include "json.h"
#include "session.h"
#include "ticker.h"

namespace rlscope::cuda {
namespace {

constexpr size_t kMostWaiting = 64;  // buffers
constexpr int kPatience = 3;  // seconds that another profiler may take to give CUPTI back before that is told

// Once per process. Set outside the collector, which a forked child makes anew.
std::atomic<bool> g_has_complained{false};
std::atomic<bool> g_is_managed{false};  // Python says what is recorded

class Collector {
 public:
  void enable(const std::string& directories);
  void disable();
  void release(const char* holder);
  void reattach();
  Status status();
  void on_start();
  void on_stop();
  void attach_from_driver(const char* directory);

  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
  void on_event(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
  void on_tick(bool is_due);
  uint8_t* take_buffer() { return buffers_.take(); }
  void return_buffer(uint8_t* buffer, size_t valid_bytes);

 private:
  enum class Outcome { kAttached, kNotNow, kHeld, kFailed };

  Outcome attach(bool is_ready);
  void detach();
  void attach_after_gap();
  void end_gap();
  void flush(uint32_t flags);
  void read_completed();
  void note_device(uint32_t device);
  void note_devices();
  void fail(const std::string& sentence);
  void write_facts();

  std::mutex mutex_;  // guards what follows; callbacks never take it
  bool is_wanted_ = false;
  bool is_attached_ = false;
  bool is_held_ = false;  // another profiler has CUPTI, and says so
  std::string directories_;
  std::string holder_;            // that profiler, until we have CUPTI again
  uint64_t gap_start_ticks_ = 0;  // since when nothing is recorded because of it; 0: nothing is missing
  int attempts_ = 0;              // more than 0: it is done, but CUPTI was not free at so many attempts
  CuptiSubscription subscription_;

  std::atomic<const CuptiLibrary*> library_{nullptr};  // loaded for good
  std::atomic<bool> is_broken_{false};                 // CUPTI has given up: it must not be called any more
  LaunchTable launches_;
  CallRecorder calls_{launches_};
  BufferPool buffers_;
  std::mutex completed_mutex_;  // guards the next
  std::vector<std::pair<uint8_t*, size_t>> completed_;  // buffers, with their bytes, that wait for being read
  DeviceRecords records_;
  Ticker ticker_;

  std::mutex facts_mutex_;  // guards what follows; taken last
  const char* state_ = "off";
  std::string error_;
  int driver_version_ = 0;
  std::vector<std::string> device_properties_;  // by number; empty: not written to this recording yet
};

// Leaked on purpose: threads of CUDA may come here while the process is being torn down.
std::atomic<Collector*>& current() {
  static std::atomic<Collector*> collector{new Collector};
  return collector;
}
Collector& collector() { return *current().load(std::memory_order_acquire); }

const SessionListener kListener = {
    [] { collector().on_start(); },
    [] { collector().on_stop(); },
    // Neither the parent's context nor its threads exist here, and CUPTI must not be called.
    [] { current() = new Collector; },
};

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  collector().on_callback(domain, cbid, data);
}

void CUPTIAPI on_buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = collector().take_buffer();
  *size = *buffer ? BufferPool::kBytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (buffer) collector().return_buffer(buffer, valid_bytes);
}

constexpr CuptiCallbacks kCallbacks = {on_callback, on_buffer_requested, on_buffer_completed};

// Only Python follows windows, and the directory of a run that has them is no trace.
bool is_in_windows(const std::string& directory) { return access((directory + "/requests").c_str(), F_OK) == 0; }

void stop_at_exit() { Session::stop(EndReason::kStopped); }

void Collector::enable(const std::string& directories) {
  g_is_managed = true;
  Session::listen(Follower::kCuda, kListener);
  std::lock_guard<std::mutex> lock(mutex_);
  is_wanted_ = true;
  directories_ = directories;
  attach(driver_state() == DriverState::kReady);
}

void Collector::disable() {
  g_is_managed = true;
  std::lock_guard<std::mutex> lock(mutex_);
  is_wanted_ = false;
  is_held_ = false;
  end_gap();
  detach();
  if (!is_broken_) subscription_.leave();
}

void Collector::release(const char* holder) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_wanted_ || is_held_) return;
  is_held_ = true;
  attempts_ = 0;
  holder_ = holder;
  if (Session::is_recording() && !gap_start_ticks_) gap_start_ticks_ = now_ticks();
  detach();
}

void Collector::reattach() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_held_) return;
  is_held_ = false;
  attach_after_gap();
}

void Collector::attach_after_gap() {
  Outcome outcome = attach(driver_state() == DriverState::kReady);
  if (outcome == Outcome::kAttached || outcome == Outcome::kNotNow) {
    end_gap();
  } else if (outcome == Outcome::kFailed) {
    attempts_ = 0;  // the gap goes on to the end of the recording
  } else {
    if (++attempts_ == kPatience) {
      fail(holder_ + " has ended and keeps CUPTI; PyTorch gives it back with TEARDOWN_CUPTI=1 in the environment");
    }
    ticker_.start([](void*, bool is_due) { collector().on_tick(is_due); }, nullptr);
  }
}

// Writes how long nothing was recorded. A process that has not used CUDA until then has missed nothing.
void Collector::end_gap() {
  attempts_ = 0;
  if (gap_start_ticks_ && driver_state() == DriverState::kReady) {
    records_.write_gap("[held by " + holder_ + "]", gap_start_ticks_, now_ticks());
  }
  gap_start_ticks_ = 0;
  if (!is_held_) holder_.clear();
}

Status Collector::status() {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  const CuptiLibrary* library = library_;
  return {state_, error_, library ? library->path : "", library ? library->version : 0, driver_version_};
}

void Collector::on_start() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_held_) gap_start_ticks_ = now_ticks();
  attach(driver_state() == DriverState::kReady);
}

void Collector::on_stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  end_gap();
  detach();
}

void Collector::attach_from_driver(const char* directory) {
  // Where Python records, or is going to, this thread has a writer.
  bool is_ours = !g_is_managed && directory && !Session::writer() && !is_in_windows(directory);
  if (is_ours) {
    if (int error = Session::start(directory)) {
      fail(std::string("no trace can be written into ") + directory + ": " + std::strerror(error));
      return;
    }
    Session::write_properties("{\"process_name\": " + json_text(program_invocation_short_name) + "}");
    Session::listen(Follower::kCuda, kListener);
  }
  // Another thread that holds the mutex may be waiting for the driver, which waits for us. It then attaches itself.
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  for (int attempt = 0; attempt < 100 && !lock.owns_lock() && !lock.try_lock(); attempt++) {
    timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  if (!lock.owns_lock()) return;
  is_wanted_ |= is_ours;
  attach(true);
  // After CUPTI has registered what it does at exit, so that this comes first.
  if (is_ours) std::atexit(stop_at_exit);
}

// Records from now on, if that is wanted and possible. `is_ready`: the driver is initialized, or about to be.
Collector::Outcome Collector::attach(bool is_ready) {
  if (!is_wanted_ || is_attached_) return Outcome::kNotNow;
  {
    std::lock_guard<std::mutex> lock(facts_mutex_);
    if (is_broken_) {
      write_facts();
      return Outcome::kFailed;
    }
    state_ = holder_.empty() ? "waiting" : "released";
    error_.clear();
    device_properties_.clear();
    if (is_ready) driver_version_ = driver_version();
  }
  if (!is_ready || is_held_ || !Session::is_recording()) return Outcome::kNotNow;
  std::string error;
  if (!library_) library_ = load_cupti(directories_, driver_version_, error);
  if (!library_) {
    fail(error);
    return Outcome::kFailed;
  }
  if (!launches_.clear()) {
    fail("there is no memory for the table of launches");
    return Outcome::kFailed;
  }
  read_completed();  // what came too late for the recording before this one
  records_.start(*library_, launches_);
  buffers_.refill();
  const char* function;
  CUptiResult result = subscription_.subscribe(*library_, kCallbacks, function);
  if (result != CUPTI_SUCCESS) {
    subscription_.undo();
    records_.stop();
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && !holder_.empty()) return Outcome::kHeld;
    fail(explain(*library_, function, result));
    return Outcome::kFailed;
  }
  is_attached_ = true;
  calls_.open();
  if (int failed = ticker_.start([](void*, bool is_due) { collector().on_tick(is_due); }, nullptr)) {
    detach();
    fail(std::string("no thread could be started: ") + std::strerror(failed));
    return Outcome::kFailed;
  }
  std::lock_guard<std::mutex> lock(facts_mutex_);
  state_ = "recording";
  write_facts();
  return Outcome::kAttached;
}

// Lets go of CUPTI. The program is not changed: what still runs on a device is not waited for, and counted as lost.
void Collector::detach() {
  if (!ticker_.stop()) {
    is_broken_ = true;  // so would we hang
    fail("CUPTI has hung while records were fetched");
  }
  if (is_attached_) {
    is_attached_ = false;
    calls_.close();
    if (!is_broken_ && driver_state() == DriverState::kReady) {
      flush(0);
      subscription_.undo();
      read_completed();
      note_devices();
    }
    records_.stop();
  }
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (error_.empty()) state_ = !is_wanted_ ? "off" : is_held_ ? "released" : "waiting";
}

void Collector::on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  size_t place = find_cuda_call(domain, cbid);
  if (place == kCudaCallCount) return on_event(domain, cbid, data);
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (kCudaCalls[place].destroys && call.callbackSite == CUPTI_API_ENTER) flush(0);
  calls_.on_call(place, call);
}

// Out of line: what is rare would lie between what runs at every call.
__attribute__((cold)) void Collector::on_event(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    uint32_t device;
    CUcontext context = static_cast<const CUpti_ResourceData*>(data)->context;
    if (library_.load()->cuptiGetDeviceId(context, &device) == CUPTI_SUCCESS) note_device(device);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    flush(0);
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    // CUPTI takes itself away after this.
    is_broken_ = true;
    const char* message = static_cast<const CUpti_StateData*>(data)->notification.message;
    fail(std::string("CUPTI has given up: ") + (message ? message : "it does not say why"));
  }
}

// Called where CUPTI likes, perhaps on a thread that is launching: it hands the buffer on.
void Collector::return_buffer(uint8_t* buffer, size_t valid_bytes) {
  size_t waiting;
  {
    std::lock_guard<std::mutex> lock(completed_mutex_);
    completed_.emplace_back(buffer, valid_bytes);
    waiting = completed_.size();
  }
  if (waiting < kMostWaiting) {
    ticker_.wake();
  } else {
    read_completed();  // the thread does not keep up
  }
}

void Collector::read_completed() {
  std::vector<std::pair<uint8_t*, size_t>> completed;
  {
    std::lock_guard<std::mutex> lock(completed_mutex_);
    completed.swap(completed_);
  }
  for (auto [buffer, valid_bytes] : completed) {
    records_.read(buffer, valid_bytes);
    buffers_.give(buffer);
  }
}

void Collector::on_tick(bool is_due) {
  if (!is_due) {
    read_completed();
    buffers_.refill();
    return;
  }
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // who holds it may be waiting for this thread
  if (attempts_ > 0) attach_after_gap();
  bool is_attached = is_attached_;
  lock.unlock();
  if (is_attached) flush(0);
  buffers_.refill();
}

// Fetches what is complete and writes it.
void Collector::flush(uint32_t flags) {
  if (is_broken_) return;
  CUptiResult result = library_.load()->cuptiActivityFlushAll(flags);
  read_completed();
  records_.write();
  note_devices();
  if (result != CUPTI_SUCCESS) fail(explain(*library_, "cuptiActivityFlushAll", result));
}

void Collector::note_devices() {
  for (uint32_t device : records_.take_devices()) note_device(device);
}

// Writes what a device is, once per recording. The driver is asked without a lock: it may be who called us.
void Collector::note_device(uint32_t device) {
  {
    std::lock_guard<std::mutex> lock(facts_mutex_);
    if (device < device_properties_.size() && !device_properties_[device].empty()) return;
  }
  DeviceFacts facts;
  if (!device_facts(device, facts)) return;
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (device_properties_.size() <= device) device_properties_.resize(device + 1);
  device_properties_[device] = json_text(std::to_string(device)) + ": {\"uuid\": " + json_text(facts.uuid) +
                               ", \"name\": " + json_text(facts.name) +
                               ", \"compute_capability\": " + json_text(facts.compute_capability) +
                               (facts.number ? ", \"number\": " + std::to_string(*facts.number) : "") + "}";
  std::string all;
  for (const std::string& properties : device_properties_) {
    if (!properties.empty()) all += (all.empty() ? "" : ", ") + properties;
  }
  Session::write_properties("{\"devices\": {" + all + "}}");
}

// Says once per process why GPU work is not recorded, and notes it in the trace.
void Collector::fail(const std::string& sentence) {
  {
    std::lock_guard<std::mutex> lock(facts_mutex_);
    state_ = "failed";
    if (error_ == sentence) return;
    error_ = sentence;
    write_facts();
  }
  if (g_has_complained.exchange(true)) return;
  std::string process = std::to_string(getpid());
  std::string line = "rlscope: GPU work of process " + process + " is not recorded: " + sentence + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) errno = 0;
}

// With facts_mutex_ held.
void Collector::write_facts() {
  const CuptiLibrary* library = library_;
  std::string facts = "\"driver_version\": " + std::to_string(driver_version_);
  if (library) {
    facts += ", \"cupti_version\": " + std::to_string(library->version);
    facts += ", \"cupti_path\": " + json_text(library->path);
  }
  facts += error_.empty() ? ", \"state\": \"recorded\"" : ", \"state\": \"failed\", \"error\": " + json_text(error_);
  Session::write_properties("{\"cuda\": {" + facts + "}}");
}

}  // namespace

void enable(const std::string& directories) { collector().enable(directories); }
void disable() { collector().disable(); }
void release(const char* holder) { collector().release(holder); }
void reattach() { collector().reattach(); }
Status status() { return collector().status(); }
std::string find_cupti(const std::string& directories, int driver_version, std::string& error) {
  const CuptiLibrary* library = load_cupti(directories, driver_version, error);
  return library ? library->path : "";
}
void attach_from_driver(const char* directory) { collector().attach_from_driver(directory); }

}  // namespace rlscope::cuda
