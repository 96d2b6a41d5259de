// Finds libcupti at run time: which one, and what it is called of it.
#pragma once
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <cstdint>
#include <string>

namespace rlscope::cuda {

// What we call. One build serves CUDA 12 and 13: these functions are the same in both.
#define RLSCOPE_CUPTI_FUNCTIONS(DO)          \
  DO(cuptiGetVersion)                        \
  DO(cuptiGetResultString)                   \
  DO(cuptiSubscribe)                         \
  DO(cuptiUnsubscribe)                       \
  DO(cuptiEnableCallback)                    \
  DO(cuptiEnableAllDomains)                  \
  DO(cuptiGetDeviceId)                       \
  DO(cuptiActivityRegisterCallbacks)         \
  DO(cuptiActivityRegisterTimestampCallback) \
  DO(cuptiActivitySetAttribute)              \
  DO(cuptiActivityEnable)                    \
  DO(cuptiActivityDisable)                   \
  DO(cuptiActivityFlushAll)                  \
  DO(cuptiActivityGetNextRecord)             \
  DO(cuptiActivityGetNumDroppedRecords)      \
  DO(cuptiFinalize)

struct CuptiLibrary {
  std::string path;
  uint32_t version = 0;  // a small number up to CUDA 12, then as in 130001
#define RLSCOPE_CUPTI_MEMBER(function) decltype(&::function) function = nullptr;
  RLSCOPE_CUPTI_FUNCTIONS(RLSCOPE_CUPTI_MEMBER)
#undef RLSCOPE_CUPTI_MEMBER
};

// The major version of the CUDA that a libcupti belongs to.
int cuda_major_of_cupti(uint32_t version);

// The libcupti to use with a driver of `driver_version` (12090 is 12.9): the process's own first, then what lies in
// `directories` (':' between), then what the loader finds, then the toolkit's. Null, and a sentence in `error`, where
// there is none. Loaded for good.
const CuptiLibrary* load_cupti(const std::string& directories, int driver_version, std::string& error);

}  // namespace rlscope::cuda
