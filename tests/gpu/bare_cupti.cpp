// The least that a tracer must do with CUPTI: the same activity kinds as the recorder, and its buffers thrown away.
// What recording costs is compared with this. Built and loaded by measure.py.
#include <cupti.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};
std::atomic<uint64_t> records{0};

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

extern "C" int bare_start() {
  if (CUptiResult error = cuptiActivityRegisterCallbacks(request, complete)) return error;
  for (CUpti_ActivityKind kind : kKinds) {
    if (CUptiResult error = cuptiActivityEnable(kind)) return error;
  }
  return 0;
}

extern "C" int bare_stop() {
  for (CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
  if (CUptiResult error = cuptiActivityFlushAll(1)) return error;
  return cuptiFinalize();  // else the process stays slower than it was
}

extern "C" uint64_t bare_records() { return records; }

// In a process of its own: the driver calls this at cuInit.
extern "C" int InitializeInjection() {
  bare_start();
  return 1;
}
