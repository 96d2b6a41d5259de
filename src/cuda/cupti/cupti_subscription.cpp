// What is switched on at CUPTI, in which order, and off again.
#include "cupti_subscription.h"

#include <cupti_driver_cbid.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "clock.h"
#include "cuda_calls.h"
#include "driver.h"

namespace rlscope::cuda {
namespace {

// Without KIND_SYNCHRONIZATION: its records cost a launch-bound loop of PyTorch 17 % of its time (measured on an H100), and
// tell no more than the waiting calls, which are recorded.
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,  // not KIND_KERNEL, which serializes kernels; a graph's nodes come with it
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,  // from one device to another
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};

// The library that this thread is about to take out of the process.
thread_local const CuptiLibrary* t_leaving = nullptr;

void CUPTIAPI on_own_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  bool is_exit = static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT;
  if (is_exit && t_leaving) std::exchange(t_leaving, nullptr)->cuptiFinalize();
}

uint64_t CUPTIAPI our_time() { return monotonic_ns(); }
// CUPTI's own, for who uses it after us: a callback cannot be taken back.
uint64_t CUPTIAPI default_time() { return monotonic_ns(CLOCK_REALTIME); }

}  // namespace

CUptiResult CuptiSubscription::subscribe(const CuptiLibrary& cupti, const CuptiCallbacks& callbacks,
                                         const char*& function) {
  library_ = &cupti;
  CUptiResult result;
  auto failed = [&](const char* name, CUptiResult given) {
    function = name;
    result = given;
    return given != CUPTI_SUCCESS;
  };
  if (failed("cuptiSubscribe", cupti.cuptiSubscribe(&subscriber_, callbacks.on_callback, nullptr))) return result;
  has_subscribed_ = true;
  if (failed("cuptiActivityRegisterTimestampCallback", cupti.cuptiActivityRegisterTimestampCallback(our_time)) ||
      failed("cuptiActivityRegisterCallbacks",
             cupti.cuptiActivityRegisterCallbacks(callbacks.on_buffer_requested, callbacks.on_buffer_completed))) {
    return result;
  }
  // Buffers come zeroed from us. Where CUPTI does not know this, it zeroes them once more.
  uint8_t yes = 1;
  size_t size = sizeof yes;
  cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &yes);
  for (CUpti_ActivityKind kind : kKinds) {
    if (failed("cuptiActivityEnable", cupti.cuptiActivityEnable(kind))) return result;
  }
  return enable_callbacks(function);
}

// What CUPTI calls back at. On an error, `function` is what gave it.
CUptiResult CuptiSubscription::enable_callbacks(const char*& function) {
  function = "cuptiEnableCallback";
  auto enable = [this](CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
    return library_->cuptiEnableCallback(1, subscriber_, domain, cbid);
  };
  constexpr CUpti_CallbackId kResources[] = {CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                             CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
  for (CUpti_CallbackId cbid : kResources) {
    if (CUptiResult result = enable(CUPTI_CB_DOMAIN_RESOURCE, cbid)) return result;
  }
  // What a libcupti does not know it calls an invalid parameter: fatal errors before CUDA 12, calls that came later.
  CUptiResult result = enable(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  for (size_t place = 0; place < kCudaCallCount && (!result || result == CUPTI_ERROR_INVALID_PARAMETER); place++) {
    result = enable(kCudaCalls[place].domain, kCudaCalls[place].cbid);
  }
  return result == CUPTI_ERROR_INVALID_PARAMETER ? CUPTI_SUCCESS : result;
}

void CuptiSubscription::undo() {
  if (!subscriber_) return;
  const CuptiLibrary& cupti = *library_;
  cupti.cuptiEnableAllDomains(0, subscriber_);
  for (CUpti_ActivityKind kind : kKinds) cupti.cuptiActivityDisable(kind);
  // Forced: buffers with records of unfinished work come back too. The next user of CUPTI must not get them.
  cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  uint8_t no = 0;
  size_t size = sizeof no;
  cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &no);
  cupti.cuptiActivityRegisterTimestampCallback(default_time);
  cupti.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CuptiSubscription::leave() {
  if (!has_subscribed_ || driver_state() != DriverState::kReady) return;
  const CuptiLibrary& cupti = *library_;
  if (cupti.cuptiSubscribe(&subscriber_, on_own_call, nullptr) != CUPTI_SUCCESS) return;
  cupti.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount);
  t_leaving = &cupti;
  driver_state();  // asks cuDeviceGetCount
  if (std::exchange(t_leaving, nullptr)) {
    cupti.cuptiUnsubscribe(subscriber_);  // CUPTI did not tell us of it, and stays
  } else {
    has_subscribed_ = false;
  }
  subscriber_ = nullptr;
}

std::string explain(const CuptiLibrary& library, const char* function, CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another tool has CUPTI (Nsight, or a profiler in the program); record without it";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return std::string(function) + " is allowed to administrators only; one of them can allow it to all with the "
                                     "driver option NVreg_RestrictProfilingToAdminUsers=0";
    default:
      const char* text = nullptr;
      library.cuptiGetResultString(result, &text);
      return std::string(function) + " gave " + (text ? text : "an error without a name") + " (" +
             std::to_string(result) + ")";
  }
}

}  // namespace rlscope::cuda
