// The GPU layer: records what CUDA does in this process, from when the driver is initialized.
#pragma once
#include <cstdint>
#include <string>

#include "api.h"

namespace rlscope::cuda {

// The layer is wanted: it attaches now where CUDA is initialized already, else when the driver loads us. `directories`,
// ':' between, are where libcupti may lie.
RLSCOPE_API void enable(const std::string& directories);
// The layer is not wanted any more, and the program goes on: from its next CUDA call it is as fast as before.
RLSCOPE_API void disable();
// Another profiler takes CUPTI: it finds it as if we had not been here. Until reattach nothing is recorded.
RLSCOPE_API void release(const char* holder);
// Records again, and writes how long nothing was recorded. While the other profiler keeps CUPTI, tries once a second.
RLSCOPE_API void reattach();

struct Status {
  const char* state;  // off, waiting (for CUDA or for a recording), recording, released, failed
  std::string error;  // a sentence, empty if nothing failed
  std::string cupti_path;
  uint32_t cupti_version;
  int driver_version;
};
RLSCOPE_API Status status();

// The path of the libcupti that a process with a driver of this version uses; else empty, and a sentence in `error`.
RLSCOPE_API std::string find_cupti(const std::string& directories, int driver_version, std::string& error);

// The driver is calling us from cuInit. In a process that nothing else records, and with `directory` given, starts a
// recording that ends with the process.
void attach_from_driver(const char* directory);

}  // namespace rlscope::cuda
