// The hot path of the GPU layer: one record and one store at the begin of a call, one record at its end.
#include "call_recorder.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cuda_calls.h"
#include "session.h"

namespace rlscope::cuda {
namespace {

constexpr uint64_t kLongestWait_ns = 1'000'000'000;

// The outermost CUDA call that this thread is in.
struct OpenCall {
  uint32_t recording;  // 0: none
  uint32_t place;
  uint32_t correlation;
  uint32_t launch_site;
  uint32_t depth;  // of the thread's frames before it
  StreamWriter* writer;  // null: it could not be recorded
};
__thread OpenCall t_call __attribute__((tls_model("initial-exec")));
__thread uint32_t t_counter __attribute__((tls_model("initial-exec")));  // from 1; 0: not chosen yet

std::atomic<uint32_t> g_recordings{0};

// Names are interned at a call's first use; variants of a call share a name.
std::atomic<uint32_t> g_name_ids[kMostCudaCalls];
std::mutex g_names_mutex;

CodedId intern_call(size_t place) {
  std::lock_guard<std::mutex> lock(g_names_mutex);
  const CudaCall& call = kCudaCalls[place];
  uint32_t id = g_name_ids[place];
  for (size_t other = 0; other < kCudaCallCount && !id; other++) {
    if (std::strcmp(kCudaCalls[other].name, call.name) == 0) id = g_name_ids[other];
  }
  if (!id) id = Session::intern(NameKind::kBoundary, call.category, call.name).id;
  g_name_ids[place].store(id, std::memory_order_release);
  return encode_id(id);
}

// A call that was open when recording paused has left its frame on the thread: nobody told us of its end.
void close_frame_left_open() {
  StreamWriter* writer = t_call.writer;
  t_call.recording = 0;
  if (!writer || writer != t_writer || writer->is_closed() || writer->depth() != t_call.depth + 1) return;
  if (writer->frame(t_call.depth).id == g_name_ids[t_call.place]) writer->end();
}

CodedId name_of_call(size_t place) {
  uint32_t id = g_name_ids[place].load(std::memory_order_acquire);
  return id ? encode_id(id) : intern_call(place);
}

}  // namespace

CallbackGate::Counter& CallbackGate::counter_of_thread() {
  static std::atomic<uint32_t> threads{0};
  if (t_counter == 0) t_counter = ++threads;
  return counters_[std::min<size_t>(t_counter - 1, kOwnCounters)];
}

// Whether no other thread counts where this one does, and close() needs no fence of it.
bool CallbackGate::is_alone() const {
  return t_counter <= kOwnCounters && has_membarrier_.load(std::memory_order_relaxed);
}

bool CallbackGate::enter() {
  if (!is_open_.load(std::memory_order_relaxed)) return false;
  std::atomic<uint32_t>& inside = counter_of_thread().inside;
  // Counted before the second look, both in one order for all threads: close() sees the count, or this sees it closed.
  if (is_alone()) {
    inside.store(inside.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    inside.fetch_add(1);
  }
  if (is_open_.load()) return true;
  leave();
  return false;
}

void CallbackGate::leave() {
  std::atomic<uint32_t>& inside = counter_of_thread().inside;
  if (is_alone()) {
    inside.store(inside.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  } else {
    inside.fetch_sub(1);
  }
}

void CallbackGate::open() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) has_membarrier_ = true;
  is_open_ = true;
}

void CallbackGate::close() {
  is_open_ = false;
  if (has_membarrier_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  uint64_t started_ns = monotonic_ns();
  for (Counter& counter : counters_) {
    while (counter.inside.load() != 0 && monotonic_ns() - started_ns < kLongestWait_ns) {
      timespec pause{0, 20'000};
      nanosleep(&pause, nullptr);
    }
  }
}

void CallRecorder::open() {
  recording_ = ++g_recordings;
  gate_.open();
}

void CallRecorder::on_call(size_t place, const CUpti_CallbackData& data) {
  // Half of all callbacks: the driver's call that a runtime call makes has its number, and there is nothing to record.
  bool is_inside = t_call.recording != 0 && t_call.recording == g_recordings.load(std::memory_order_relaxed);
  if (is_inside && t_call.correlation == data.correlationId && t_call.place != place) return;
  launches_.prefetch(data.correlationId);
  if (!gate_.enter()) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    on_enter(place, data);
  } else {
    on_exit(place, data);
  }
  gate_.leave();
}

void CallRecorder::on_enter(size_t place, const CUpti_CallbackData& data) {
  if (t_call.recording == recording_) {
    // A call of the driver that the runtime makes. Should device records name it, they find the same launch.
    launches_.store(data.correlationId, t_call.launch_site);
    return;
  }
  if (t_call.recording != 0) close_frame_left_open();
  uint32_t launch_site = Session::launch_site();
  launches_.store(data.correlationId, launch_site);
  StreamWriter* writer = Session::writer();
  uint32_t depth = writer ? writer->depth() : 0;
  t_call = {recording_, static_cast<uint32_t>(place), data.correlationId, launch_site, depth, writer};
  if (writer && !writer->begin(name_of_call(place))) t_call.writer = nullptr;
}

void CallRecorder::on_exit(size_t place, const CUpti_CallbackData& data) {
  if (t_call.recording != recording_ || t_call.place != place || t_call.correlation != data.correlationId) return;
  t_call.recording = 0;
  StreamWriter* writer = t_call.writer;
  if (writer && writer == t_writer && !writer->is_closed()) writer->end_to(t_call.depth);
}

}  // namespace rlscope::cuda
