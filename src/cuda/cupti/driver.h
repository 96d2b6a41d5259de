// What we ask the CUDA driver, where the process has loaded it.
#pragma once
#include <cstdint>
#include <string>

namespace rlscope::cuda {

enum class DriverState {
  kAbsent,         // the process has not loaded the driver
  kUninitialized,  // cuInit has not returned yet
  kReady,
  kGone,  // the process ends, and the driver has cleaned up
};
DriverState driver_state();

// 12090 is CUDA 12.9; 0 where there is no driver.
int driver_version();

struct DeviceFacts {
  std::string uuid;  // as nvidia-smi writes it
  std::string name;
  std::string compute_capability;
};
// False where the driver does not say. `device` is CUDA's number in this process.
bool device_facts(uint32_t device, DeviceFacts& facts);

}  // namespace rlscope::cuda
