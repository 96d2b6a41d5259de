// The least that a tracer must do with CUPTI: activity records, thrown away, and callbacks that do nothing on the calls
// that launch, copy or wait. What recording costs is compared with this. Built and loaded by measure.py; launches.py changes
// one option of it at a time.
#include <cupti.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr CUpti_ActivityKind kCopies[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,     CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020};
constexpr CUpti_CallbackId kDriverCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};
std::atomic<uint64_t> records{0};
CUpti_SubscriberHandle subscriber;

// As measure.py has it, too.
struct Options {
  int has_callbacks;
  int attribute;  // of CUpti_ActivityAttribute, -1 for none
  size_t value;   // of the attribute
  size_t buffer_bytes;
  int kernels;  // the kind of record that has them
} options;

void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, options.buffer_bytes));
  *size = options.buffer_bytes;
  *most_records = 0;
}

void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records++;
  free(buffer);
}

}  // namespace

// Returns CUPTI's error, 0 for none.
extern "C" int bare_start(const Options* chosen) {
  options = *chosen;
  if (options.attribute >= 0) {
    bool is_flag = options.attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
                   options.attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;
    size_t size = is_flag ? sizeof(uint8_t) : sizeof(size_t);
    auto attribute = static_cast<CUpti_ActivityAttribute>(options.attribute);
    if (CUptiResult error = cuptiActivitySetAttribute(attribute, &size, &options.value)) return error;
  }
  if (CUptiResult error = cuptiActivityRegisterCallbacks(request, complete)) return error;
  if (CUptiResult error = cuptiActivityEnable(static_cast<CUpti_ActivityKind>(options.kernels))) return error;
  for (CUpti_ActivityKind kind : kCopies) {
    if (CUptiResult error = cuptiActivityEnable(kind)) return error;
  }
  if (!options.has_callbacks) return 0;
  if (CUptiResult error = cuptiSubscribe(&subscriber, on_call, nullptr)) return error;
  for (CUpti_CallbackId call : kRuntimeCalls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, call);
  for (CUpti_CallbackId call : kDriverCalls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
  return 0;
}

extern "C" int bare_stop() {
  cuptiActivityDisable(static_cast<CUpti_ActivityKind>(options.kernels));
  for (CUpti_ActivityKind kind : kCopies) cuptiActivityDisable(kind);
  if (CUptiResult error = cuptiActivityFlushAll(1)) return error;
  if (subscriber) cuptiUnsubscribe(subscriber);
  subscriber = nullptr;
  return cuptiFinalize();  // else the process stays slower than it was
}
