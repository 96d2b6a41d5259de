// What tests tell the fake libcupti to do, and ask it for.
#include <algorithm>
#include <cstring>

#include "fake_cupti_parts.h"

using namespace fake_cupti;

namespace {

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

}  // namespace

extern "C" {

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
