// A libcuda with two devices and no GPU. Its cuInit loads what CUDA_INJECTION64_PATH names, as the real one does.
//
// For programs that a test starts, the variable FAKE_DRIVER_VERSION is its version.
#include "fake_driver.h"

#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<CUresult> g_state{CUDA_ERROR_NOT_INITIALIZED};
std::atomic<int> g_version{std::getenv("FAKE_DRIVER_VERSION") ? std::atoi(std::getenv("FAKE_DRIVER_VERSION")) : 13000};

}  // namespace

extern "C" {

void fake_driver_set_state(CUresult state) { g_state = state; }
void fake_driver_set_version(int version) { g_version = version; }

CUresult cuInit(unsigned) {
  if (g_state == CUDA_SUCCESS) return CUDA_SUCCESS;
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH")) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) std::fprintf(stderr, "fake driver: %s\n", dlerror());
    auto initialize = library ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
    if (initialize && initialize() != 1) return CUDA_ERROR_UNKNOWN;
  }
  g_state = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = g_version;
  return CUDA_SUCCESS;
}

// CUPTI hears of this call, where the process has one.
CUresult cuDeviceGetCount(int* count) {
  using Tell = void (*)(CUpti_CallbackDomain, CUpti_CallbackId, uint32_t, CUpti_ApiCallbackSite);
  auto tell = reinterpret_cast<Tell>(dlsym(RTLD_DEFAULT, "fake_cupti_call"));
  constexpr auto kCall = CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount;
  if (tell) tell(CUPTI_CB_DOMAIN_DRIVER_API, kCall, 0, CUPTI_API_ENTER);
  *count = 2;
  if (tell) tell(CUPTI_CB_DOMAIN_DRIVER_API, kCall, 0, CUPTI_API_EXIT);
  return g_state;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (g_state != CUDA_SUCCESS) return g_state;
  if (ordinal < 0 || ordinal > 1) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  for (int i = 0; i < 16; i++) uuid->bytes[i] = static_cast<char>(0xA0 + i);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  std::snprintf(name, static_cast<size_t>(size), device == 0 ? "Fake \"GPU\"" : "Fake GPU MIG 1g.10gb");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* bus_id, int size, CUdevice device) {
  std::snprintf(bus_id, static_cast<size_t>(size), "0000:%02X:00.0", 0x3B + device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}
}
