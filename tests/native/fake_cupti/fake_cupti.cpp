// A libcupti without a GPU: keeps the rules of the real one that our collector relies on, and plays what a test says.
//
// Built three times: as CUDA 13's; as CUDA 12's (FAKE_CUPTI_VERSION, shorter kernel records, nothing optional); and as
// one that lacks a function (FAKE_CUPTI_LACKS_FLUSH). Programs that a test starts say with variables what it does:
// FAKE_CUPTI_FAIL=cuptiSubscribe=39 is the result of a function, FAKE_CUPTI_FLUSH_MS=1000 how long a flush takes.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fake_cupti_parts.h"

namespace fake_cupti __attribute__((visibility("hidden"))) {

thread_local bool t_is_at_exit = false;

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

}  // namespace fake_cupti

using namespace fake_cupti;

namespace {

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
}
