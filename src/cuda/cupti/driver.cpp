// The few functions of libcuda that we call, looked up each time: none of them is called often.
#include "driver.h"

#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <strings.h>

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
  auto get_bus_id = RLSCOPE_DRIVER_FUNCTION(cuDeviceGetPCIBusId);
  char bus_id[32] = {};
  bool has_bus_id = get_bus_id && get_bus_id(bus_id, sizeof bus_id - 1, handle) == CUDA_SUCCESS;
  facts = {format_uuid(uuid, std::strstr(name, " MIG ")), name, std::to_string(major) + "." + std::to_string(minor),
           has_bus_id ? number_of_device("/proc/driver/nvidia/gpus", bus_id) : std::nullopt};
  return true;
}

std::optional<int> number_of_device(const std::string& folder, const std::string& bus_id) {
  DIR* listed = opendir(folder.c_str());
  if (!listed) return std::nullopt;
  int before = 0;
  bool is_there = false;
  while (const dirent* entry = readdir(listed)) {
    if (entry->d_name[0] == '.') continue;
    int order = strcasecmp(entry->d_name, bus_id.c_str());
    before += order < 0;
    is_there = is_there || order == 0;
  }
  closedir(listed);
  return is_there ? std::optional<int>(before) : std::nullopt;
}

}  // namespace rlscope::cuda
