// The few functions of libcuda that we call, looked up each time: none of them is called often.
#include "driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace rlscope::cuda {
namespace {

// Null where the process has not loaded the driver. Never loads it: a process without CUDA stays one.
template <typename Function>
Function driver_function(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  auto function = reinterpret_cast<Function>(dlsym(library, name));
  dlclose(library);  // the process's own reference keeps it
  return function;
}
#define RLSCOPE_DRIVER_FUNCTION(name) driver_function<decltype(&::name)>(#name)

std::string format_uuid(const CUuuid& uuid, bool is_partition) {
  std::string text = is_partition ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; i++) {
    char hex[4];
    std::snprintf(hex, sizeof hex, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += hex;
  }
  return text;
}

}  // namespace

DriverState driver_state() {
  auto get_count = RLSCOPE_DRIVER_FUNCTION(cuDeviceGetCount);
  if (!get_count) return DriverState::kAbsent;
  int count;
  CUresult result = get_count(&count);
  if (result == CUDA_ERROR_NOT_INITIALIZED) return DriverState::kUninitialized;
  return result == CUDA_ERROR_DEINITIALIZED ? DriverState::kGone : DriverState::kReady;
}

int driver_version() {
  auto get_version = RLSCOPE_DRIVER_FUNCTION(cuDriverGetVersion);
  int version = 0;
  return get_version && get_version(&version) == CUDA_SUCCESS ? version : 0;
}

bool device_facts(uint32_t device, DeviceFacts& facts) {
  auto get_device = RLSCOPE_DRIVER_FUNCTION(cuDeviceGet);
  auto get_uuid = driver_function<decltype(&::cuDeviceGetUuid_v2)>("cuDeviceGetUuid_v2");
  auto get_name = RLSCOPE_DRIVER_FUNCTION(cuDeviceGetName);
  auto get_attribute = RLSCOPE_DRIVER_FUNCTION(cuDeviceGetAttribute);
  if (!get_device || !get_uuid || !get_name || !get_attribute) return false;
  CUdevice handle;
  CUuuid uuid;
  char name[256] = {};
  int major, minor;
  if (get_device(&handle, static_cast<int>(device)) != CUDA_SUCCESS || get_uuid(&uuid, handle) != CUDA_SUCCESS ||
      get_name(name, sizeof name - 1, handle) != CUDA_SUCCESS ||
      get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle) != CUDA_SUCCESS ||
      get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle) != CUDA_SUCCESS) {
    return false;
  }
  facts = {format_uuid(uuid, std::strstr(name, " MIG ")), name, std::to_string(major) + "." + std::to_string(minor)};
  return true;
}

}  // namespace rlscope::cuda
