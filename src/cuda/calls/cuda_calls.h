// Which calls of the CUDA runtime and driver are recorded, and as what.
#pragma once
#include <cupti_callbacks.h>

#include <cstddef>

#include "trace_format.h"

namespace rlscope::cuda {

struct CudaCall {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  const char* name;   // without the version that CUPTI's enumerators carry
  Category category;  // kCudaWait: it returns only when the device has done something
  bool destroys;      // it destroys contexts: what they have done must be fetched before
};

constexpr size_t kMostCudaCalls = 512;
extern const CudaCall kCudaCalls[];
extern const size_t kCudaCallCount;

// The place of a call in kCudaCalls, kCudaCallCount for one that is not there.
size_t find_cuda_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

}  // namespace rlscope::cuda
