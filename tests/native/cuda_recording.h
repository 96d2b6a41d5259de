// A fixture that records this process with a CUDA of our own (fake_cupti/), and words for what happens in it.
#pragma once
#include <cupti_runtime_cbid.h>
#include <cupti_driver_cbid.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "clock.h"
#include "collector.h"
#include "device_trace.h"
#include "fake_cupti.h"
#include "fake_driver.h"
#include "recording.h"
#include "session.h"

namespace rlscope {

constexpr auto kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr CUpti_CallbackId kLaunchKernel = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr CUpti_CallbackId kGraphLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000;
constexpr CUpti_CallbackId kGraphLaunchInDriver = CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch;

// A call of the CUDA API, begun and ended with this object.
class CudaCallScope {
 public:
  CudaCallScope(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t correlation)
      : domain_(domain), cbid_(cbid), correlation_(correlation) {
    fake_cupti_call(domain_, cbid_, correlation_, CUPTI_API_ENTER);
  }
  ~CudaCallScope() { fake_cupti_call(domain_, cbid_, correlation_, CUPTI_API_EXIT); }
  CudaCallScope(const CudaCallScope&) = delete;
  CudaCallScope& operator=(const CudaCallScope&) = delete;

 private:
  CUpti_CallbackDomain domain_;
  CUpti_CallbackId cbid_;
  uint32_t correlation_;
};

inline void call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t correlation) {
  CudaCallScope scope(domain, cbid, correlation);
}

// A kernel that ran just now, on device 0 and stream 7.
inline void run_kernel(uint32_t correlation, const char* name = "a_kernel") {
  uint64_t now_ns = monotonic_ns();
  fake_cupti_kernel({correlation, now_ns - 50, now_ns, 0, 1, 7}, name);
}

class CudaRecording : public Recording {
 protected:
  void SetUp() override {
    fake_cupti_reset();
    fake_driver_set_state(CUDA_SUCCESS);
    fake_driver_set_version(13000);
    Recording::SetUp();
    cuda::enable("");
  }
  void TearDown() override {
    Session::stop(EndReason::kStopped);
    cuda::disable();
    Recording::TearDown();
  }

  DeviceTrace stop_and_read() {
    Session::stop(EndReason::kStopped);
    return DeviceTrace(path_);
  }
  std::string state() { return cuda::status().state; }
};

}  // namespace rlscope
