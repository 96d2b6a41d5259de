// A libcupti without a GPU: keeps the rules of the real one that our collector relies on, and plays what a test says.
//
// Built three times: as CUDA 13's; as CUDA 12's (FAKE_CUPTI_VERSION, shorter kernel records, nothing optional); and as
// one that lacks a function (FAKE_CUPTI_LACKS_FLUSH). Programs that a test starts say with variables what it does:
// FAKE_CUPTI_FAIL=cuptiSubscribe=39 is the result of a function, FAKE_CUPTI_FLUSH_MS=1000 how long a flush takes.
#include "fake_cupti.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifndef FAKE_CUPTI_VERSION
#define FAKE_CUPTI_VERSION 130001
#endif

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
};

namespace {

thread_local bool t_is_at_exit = false;  // in a callback there
constexpr bool kIsCuda12 = FAKE_CUPTI_VERSION < 10000;

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return kIsCuda12 ? 208 : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    default: return 0;
  }
}

struct Buffer {
  uint8_t* bytes = nullptr;
  size_t size = 0;
  size_t used = 0;
  bool is_complete = true;
};

struct State {
  std::mutex mutex;
  CUpti_Subscriber_st subscriber;
  bool has_subscriber = false;
  bool is_held = false;
  std::set<std::pair<uint32_t, uint32_t>> enabled;
  std::set<uint32_t> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc time = nullptr;
  uint8_t zeroed = 0;
  Buffer filling;
  std::vector<Buffer> full;
  bool is_reversed = false;
  bool uses_worker = false;
  uint32_t flush_ms = 0;
  size_t dropped = 0;
  uint32_t buffers_out = 0;
  bool were_zero = true;
  uint64_t callbacks = 0;
  uint64_t flushes = 0;
  uint64_t finalized = 0;
  bool was_finalized_at_exit = false;
  std::map<std::string, CUptiResult> failures;
};

State& state() {
  static State* state = [] {
    auto* fresh = new State;
    if (const char* failure = std::getenv("FAKE_CUPTI_FAIL")) {
      const char* equals = std::strchr(failure, '=');
      fresh->failures[std::string(failure, equals)] = static_cast<CUptiResult>(std::atoi(equals + 1));
    }
    if (const char* flush_ms = std::getenv("FAKE_CUPTI_FLUSH_MS")) {
      fresh->flush_ms = static_cast<uint32_t>(std::atoi(flush_ms));
    }
    return fresh;
  }();
  return *state;
}

CUptiResult given(const char* function) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto found = s.failures.find(function);
  return found == s.failures.end() ? CUPTI_SUCCESS : found->second;
}
#define FAIL_IF_TOLD()                           \
  do {                                           \
    CUptiResult told = given(__func__);          \
    if (told != CUPTI_SUCCESS) return told;      \
  } while (false)

void call_subscriber(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  State& s = state();
  CUpti_Subscriber_st subscriber;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.has_subscriber || s.enabled.count({domain, cbid}) == 0) return;
    subscriber = s.subscriber;
    s.callbacks += domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
  }
  subscriber.callback(subscriber.userdata, domain, cbid, data);
}

template <typename Record>
void append(CUpti_ActivityKind kind, Record& record) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> turn(one_at_a_time);
  State& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  if (s.kinds.count(kind) == 0) return;
  record.kind = kind;
  size_t size = size_of(kind);
  if (s.filling.bytes && s.filling.used + size > s.filling.size) s.full.push_back(std::exchange(s.filling, {}));
  if (!s.filling.bytes) {
    auto request = s.request;
    lock.unlock();  // as CUPTI does: the client may take locks of its own
    Buffer fresh;
    size_t most_records = 0;
    request(&fresh.bytes, &fresh.size, &most_records);
    bool is_zero = std::all_of(fresh.bytes, fresh.bytes + fresh.size, [](uint8_t byte) { return byte == 0; });
    lock.lock();
    s.were_zero &= is_zero;
    s.buffers_out++;
    s.filling = fresh;
  }
  std::memcpy(s.filling.bytes + s.filling.used, &record, std::min(size, sizeof record));
  s.filling.used += size;
}

template <typename Record>
void fill(Record& record, const FakeWork& work) {
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  record.graphId = work.graph;
}

// The buffers to give back now, out of the state.
std::vector<Buffer> take_buffers(bool also_unfinished, bool also_filling) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (also_filling && s.filling.bytes && (s.filling.is_complete || also_unfinished)) {
    s.full.push_back(std::exchange(s.filling, {}));
  }
  std::vector<Buffer> taken, kept;
  for (const Buffer& buffer : s.full) (buffer.is_complete || also_unfinished ? taken : kept).push_back(buffer);
  s.full = kept;
  if (s.is_reversed) std::reverse(taken.begin(), taken.end());
  s.buffers_out -= static_cast<uint32_t>(taken.size());
  return taken;
}

void give_back(const std::vector<Buffer>& buffers) {
  CUpti_BuffersCallbackCompleteFunc complete;
  bool uses_worker;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    complete = state().complete;
    uses_worker = state().uses_worker;
  }
  auto give_each = [&] {
    for (const Buffer& buffer : buffers) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
  };
  if (uses_worker) {
    std::thread(give_each).join();
  } else {
    give_each();
  }
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  FAIL_IF_TOLD();
  *version = FAKE_CUPTI_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.has_subscriber || s.is_held) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  s.subscriber = {callback, userdata};
  s.has_subscriber = true;
  *subscriber = &s.subscriber;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.has_subscriber = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.finalized++;
  s.was_finalized_at_exit = t_is_at_exit;
  s.has_subscriber = false;
  s.enabled.clear();
  s.kinds.clear();
  s.request = nullptr;
  s.complete = nullptr;
  s.time = nullptr;
  s.zeroed = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId cbid) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.has_subscriber) return CUPTI_ERROR_INVALID_PARAMETER;
  // CUDA 12's does not know the calls of CUDA 13.
  if (kIsCuda12 && domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid >= 487) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable) {
    s.enabled.insert({domain, cbid});
  } else {
    s.enabled.erase({domain, cbid});
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!enable) s.enabled.clear();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  FAIL_IF_TOLD();
  *device = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context)) - 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.request = request;
  s.complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!callback) return CUPTI_ERROR_INVALID_PARAMETER;
  s.time = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  FAIL_IF_TOLD();
  if (attribute != CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER || *size != 1) return CUPTI_ERROR_INVALID_PARAMETER;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.zeroed = *static_cast<uint8_t*>(value);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.kinds.erase(kind);
  return CUPTI_SUCCESS;
}

#ifndef FAKE_CUPTI_LACKS_FLUSH
CUptiResult cuptiActivityFlushAll(uint32_t flags) {
  FAIL_IF_TOLD();
  uint32_t flush_ms;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().flushes++;
    flush_ms = state().flush_ms;
  }
  timespec pause{flush_ms / 1000, flush_ms % 1000 * 1'000'000};
  if (flush_ms) nanosleep(&pause, nullptr);
  give_back(take_buffers(flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, true));
  return CUPTI_SUCCESS;
}
#endif

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  FAIL_IF_TOLD();
  uint8_t* next = *record ? reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind) : buffer;
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* found = reinterpret_cast<CUpti_Activity*>(next);
  if (size_of(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  FAIL_IF_TOLD();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  *dropped = std::exchange(s.dropped, 0);
  return CUPTI_SUCCESS;
}

void fake_cupti_reset() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.has_subscriber = s.is_held = s.is_reversed = s.uses_worker = false;
  s.enabled.clear();
  s.kinds.clear();
  s.failures.clear();
  s.filling = {};
  s.full.clear();
  s.flush_ms = 0;
  s.dropped = 0;
  s.buffers_out = 0;
  s.callbacks = s.flushes = s.finalized = 0;
}

void fake_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t correlation,
                     CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = "a function";
  data.correlationId = correlation;
  t_is_at_exit = site == CUPTI_API_EXIT;
  call_subscriber(domain, cbid, &data);
  t_is_at_exit = false;
}

uint64_t fake_cupti_finalized() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().finalized;
}

bool fake_cupti_was_finalized_at_exit() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().was_finalized_at_exit;
}

uint64_t fake_cupti_callbacks() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().callbacks;
}

void fake_cupti_context(CUpti_CallbackIdResource event, uint32_t device) {
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device + 1));
  call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, event, &data);
}

void fake_cupti_fatal_error(const char* message) {
  CUpti_StateData data{};
  data.notification = {CUPTI_ERROR_UNKNOWN, message};
  call_subscriber(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
}

void fake_cupti_kernel(const FakeWork& work, const char* name) {
  CUpti_ActivityKernel10 kernel{};
  fill(kernel, work);
  kernel.name = name;
  append(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernel);
}

void fake_cupti_copy(const FakeWork& work, CUpti_ActivityMemcpyKind kind, uint64_t bytes) {
  CUpti_ActivityMemcpy6 copy{};
  fill(copy, work);
  copy.copyKind = static_cast<uint8_t>(kind);
  copy.bytes = bytes;
  append(CUPTI_ACTIVITY_KIND_MEMCPY, copy);
}

void fake_cupti_peer_copy(const FakeWork& work, uint64_t bytes) {
  CUpti_ActivityMemcpyPtoP4 copy{};
  fill(copy, work);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  copy.bytes = bytes;
  append(CUPTI_ACTIVITY_KIND_MEMCPY2, copy);
}

void fake_cupti_memset(const FakeWork& work, uint64_t bytes) {
  CUpti_ActivityMemset4 set{};
  fill(set, work);
  set.bytes = bytes;
  append(CUPTI_ACTIVITY_KIND_MEMSET, set);
}

void fake_cupti_overhead(const FakeWork& work, CUpti_ActivityOverheadKind kind) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.overheadKind = kind;
  overhead.start = work.start_ns;
  overhead.end = work.end_ns;
  overhead.correlationId = work.correlation;
  append(CUPTI_ACTIVITY_KIND_OVERHEAD, overhead);
}

void fake_cupti_unfinished_kernel() {
  CUpti_ActivityKernel10 nothing{};
  append(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nothing);
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.filling.bytes) return;
  std::memset(s.filling.bytes + s.filling.used - size_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0,
              sizeof(CUpti_ActivityKind));
  s.filling.is_complete = false;
}

void fake_cupti_next_buffer() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.filling.bytes) s.full.push_back(std::exchange(s.filling, {}));
}

void fake_cupti_reverse_buffers() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().is_reversed = true;
}

void fake_cupti_use_worker() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().uses_worker = true;
}

void fake_cupti_deliver() { give_back(take_buffers(false, false)); }

void fake_cupti_drop(size_t records) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().dropped += records;
}

void fake_cupti_fail(const char* name, CUptiResult result) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().failures[name] = result;
}

void fake_cupti_delay_flush(uint32_t milliseconds) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().flush_ms = milliseconds;
}

void fake_cupti_hold(bool is_held) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().is_held = is_held;
}

FakeState fake_cupti_state() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return {s.has_subscriber,
          static_cast<uint32_t>(s.enabled.size()),
          static_cast<uint32_t>(s.kinds.size()),
          s.buffers_out,
          s.zeroed,
          s.time ? s.time() : 0};
}

bool fake_cupti_is_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().enabled.count({domain, cbid}) > 0;
}

uint64_t fake_cupti_flushes() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().flushes;
}

bool fake_cupti_buffers_were_zero() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().were_zero;
}
}
