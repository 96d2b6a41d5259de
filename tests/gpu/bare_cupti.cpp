// The least that a tracer must do with CUPTI: activity records, thrown away, and callbacks that do nothing on the calls
// that launch, copy or wait. What recording costs is compared with this. Built and loaded by measure.py.
#include <cupti.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,     CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020};
constexpr CUpti_CallbackId kDriverCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};
std::atomic<uint64_t> records{0};
CUpti_SubscriberHandle subscriber;

void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records++;
  free(buffer);
}

}  // namespace

// With records alone, or with the callbacks too.
extern "C" int bare_start(int has_callbacks) {
  if (CUptiResult error = cuptiActivityRegisterCallbacks(request, complete)) return error;
  for (CUpti_ActivityKind kind : kKinds) {
    if (CUptiResult error = cuptiActivityEnable(kind)) return error;
  }
  if (!has_callbacks) return 0;
  if (CUptiResult error = cuptiSubscribe(&subscriber, on_call, nullptr)) return error;
  for (CUpti_CallbackId call : kRuntimeCalls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, call);
  for (CUpti_CallbackId call : kDriverCalls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
  return 0;
}

extern "C" int bare_stop() {
  for (CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
  if (CUptiResult error = cuptiActivityFlushAll(1)) return error;
  if (subscriber) cuptiUnsubscribe(subscriber);
  subscriber = nullptr;
  return cuptiFinalize();  // else the process stays slower than it was
}
