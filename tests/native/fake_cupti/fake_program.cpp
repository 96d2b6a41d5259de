// A program that uses CUDA and knows nothing of us: fake_program DRIVER CUPTI LAUNCHES. CUPTI is "-" for none.
//
// Launches kernels on two threads, writes a line and exits with 3. FAKE_PROGRAM_FATAL: then CUPTI has a fatal error.
// FAKE_PROGRAM_SLEEPS: it goes on for so many seconds.
#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fake_cupti.h"

namespace {

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

template <typename Function>
Function* look_up(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  if (!function) std::abort();
  return function;
}

}  // namespace

int main(int, char** arguments) {
  void* driver = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (!driver) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  void* cupti = arguments[2][0] == '-' ? nullptr : dlopen(arguments[2], RTLD_NOW | RTLD_GLOBAL);
  int launches = std::atoi(arguments[3]);
  if (look_up<decltype(cuInit)>(driver, "cuInit")(0) != CUDA_SUCCESS) return 2;
  if (cupti) {
    auto* call = look_up<decltype(fake_cupti_call)>(cupti, "fake_cupti_call");
    auto* kernel = look_up<decltype(fake_cupti_kernel)>(cupti, "fake_cupti_kernel");
    auto launch_all = [&](uint32_t stream) {
      constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;
      constexpr auto kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
      for (int i = 0; i < launches; i++) {
        uint32_t correlation = stream * 1'000'000 + static_cast<uint32_t>(i);
        call(kDriver, kLaunch, correlation, CUPTI_API_ENTER);
        uint64_t start_ns = now_ns();
        call(kDriver, kLaunch, correlation, CUPTI_API_EXIT);
        kernel({correlation, start_ns, now_ns(), 0, 1, stream}, "a_kernel");
      }
    };
    std::thread other(launch_all, 2);
    launch_all(1);
    other.join();
    if (std::getenv("FAKE_PROGRAM_FATAL")) {
      look_up<decltype(fake_cupti_fatal_error)>(cupti, "fake_cupti_fatal_error")("the device fell off the bus");
    }
  }
  if (const char* seconds = std::getenv("FAKE_PROGRAM_SLEEPS")) {
    timespec pause{std::atoi(seconds), 0};
    nanosleep(&pause, nullptr);
  }
  std::puts("done");
  return 3;
}
