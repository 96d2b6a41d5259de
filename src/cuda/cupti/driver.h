// What we ask the CUDA driver, where the process has loaded it.
#pragma once
#include <cstdint>
#include <optional>
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
  std::optional<int> number;  // as nvidia-smi counts, whatever CUDA_VISIBLE_DEVICES hides
};
// False where the driver does not say. `device` is CUDA's number in this process.
bool device_facts(uint32_t device, DeviceFacts& facts);

// The place of a device on a PCI bus among those of which the kernel's driver has a folder here, by the numbers of their buses.
std::optional<int> number_of_device(const std::string& folder, const std::string& bus_id);

}  // namespace rlscope::cuda
