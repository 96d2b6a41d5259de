// The function that the CUDA driver calls in the library that CUDA_INJECTION64_PATH names.
#include <cstdlib>

#include "collector.h"

// Python's side reads this variable too (rlscope/record/config.py). Returns 1 always: the program goes on in any case.
extern "C" RLSCOPE_API int InitializeInjection() {
  rlscope::cuda::attach_from_driver(std::getenv("RLSCOPE_TRACE"));
  return 1;
}
