// A libcupti that samples counters without a GPU, of any number of devices. The structs are those of CUPTI's own headers.
//
// From the start on a device has a sample each interval, by a clock that is CLOCK_OFFSET_NS ahead of CLOCK_MONOTONIC. The value of
// the metric at place k in sample i is 100 * k + i % 100. Settings, each FAKE_COUNTERS_ and the name:
//   FAIL=cuptiPmSamplingEnable=35    the result of a function
//   REFUSED=1                        the device of this number is in use
//   PASSES=2                         how many passes any metrics take
//   LACKS=unknown                    metrics with this in their names are not known
//   FULL_AT=3                        the third decoding finds the image full
//   IMAGE=10                         the image takes no more samples; without it any number, so that no delay loses one
//   HELD=1                           nothing can be decoded before the device has stopped
//   CLOCKS_PER_US=1000               there is no interval in time
//   BACK_AT=100                      from there on the clock is 173 ns behind
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#ifndef FAKE_VERSION
#define FAKE_VERSION 130001
#endif

#ifndef FAKE_LACKS_SAMPLING  // as that of CUDA 12.4
namespace {

constexpr uint64_t CLOCK_OFFSET_NS = 1'000'000'000'000'000;

struct Device {
  uint64_t interval = 0;
  uint64_t begin = 0;  // of the samples since the last start
  uint64_t next = 0;   // sample to decode
  uint64_t image_samples = 0;
  int decodings = 0;
  bool was_started = false;
  uint64_t end = 0;  // when it was stopped
};

struct Image {
  uint64_t first;  // the number of its first sample
  uint64_t count;
};

Device g_devices[8];

Device& device_of(CUpti_PmSampling_Object* object) { return *reinterpret_cast<Device*>(object); }

Image& image_of(const uint8_t* bytes) { return *reinterpret_cast<Image*>(const_cast<uint8_t*>(bytes)); }

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000ull + time.tv_nsec + CLOCK_OFFSET_NS;
}

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

CUptiResult result_of(const char* function) {
  const char* failing = std::getenv("FAKE_COUNTERS_FAIL");
  if (!failing) return CUPTI_SUCCESS;
  std::string text = failing;
  size_t equals = text.find('=');
  return text.substr(0, equals) == function ? static_cast<CUptiResult>(std::atoi(text.c_str() + equals + 1))
                                            : CUPTI_SUCCESS;
}

}  // namespace

#define FAKE(function, Parameters)                                   \
  extern "C" CUptiResult CUPTIAPI function(Parameters* parameters) { \
    if (CUptiResult result = result_of(#function)) return result;    \
    if (parameters->structSize < Parameters##_STRUCT_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
#define END_FAKE        \
  return CUPTI_SUCCESS; \
  }

FAKE(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params) END_FAKE
FAKE(cuptiProfilerDeviceSupported, CUpti_Profiler_DeviceSupported_Params)
  CUpti_Profiler_Support_Level level = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  parameters->architecture = parameters->sli = parameters->confidentialCompute = parameters->cmp = parameters->wsl = level;
  parameters->vGpu = setting("FAKE_COUNTERS_VGPU", 0) ? CUPTI_PROFILER_CONFIGURATION_DISABLED : level;
  parameters->isSupported = parameters->vGpu;
END_FAKE
FAKE(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params)
  parameters->pChipName = "FAKE100";
END_FAKE
FAKE(cuptiPmSamplingGetCounterAvailability, CUpti_PmSampling_GetCounterAvailability_Params)
  if (parameters->pCounterAvailabilityImage) std::memset(parameters->pCounterAvailabilityImage, 1, 16);
  parameters->counterAvailabilityImageSize = 16;
END_FAKE
FAKE(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params)
  parameters->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(0x1000);
END_FAKE
FAKE(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params) END_FAKE
FAKE(cuptiProfilerHostGetBaseMetrics, CUpti_Profiler_Host_GetBaseMetrics_Params)
  static const char* names[] = {"sm__cycles_active", "dram__bytes"};
  parameters->ppMetricNames = names;
  parameters->numMetrics = parameters->metricType == CUPTI_METRIC_TYPE_COUNTER ? 2 : 0;
END_FAKE
FAKE(cuptiProfilerHostGetMetricProperties, CUpti_Profiler_Host_GetMetricProperties_Params)
  parameters->pDescription = "# of things";
  parameters->pDimUnit = "thing";
END_FAKE
FAKE(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
  for (size_t i = 0; i < parameters->numMetrics; i++) {
    const char* lacking = std::getenv("FAKE_COUNTERS_LACKS");
    if (lacking && std::strstr(parameters->ppMetricNames[i], lacking)) return CUPTI_ERROR_INVALID_PARAMETER;
  }
END_FAKE
FAKE(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params)
  parameters->configImageSize = 8;
END_FAKE
FAKE(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params)
  std::memcpy(parameters->pConfigImage, "CONFIGUR", 8);
END_FAKE
FAKE(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params)
  parameters->numOfPasses = static_cast<size_t>(setting("FAKE_COUNTERS_PASSES", 1));
END_FAKE
FAKE(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
  for (size_t k = 0; k < parameters->numMetrics; k++) {
    parameters->pMetricValues[k] = 100.0 * static_cast<double>(k) + static_cast<double>((image_of(parameters->pCounterDataImage).first + parameters->rangeIndex) % 100);
  }
END_FAKE
FAKE(cuptiPmSamplingEnable, CUpti_PmSampling_Enable_Params)
  if (static_cast<long>(parameters->deviceIndex) == setting("FAKE_COUNTERS_REFUSED", -1)) return CUPTI_ERROR_HARDWARE_BUSY;
  Device& device = g_devices[parameters->deviceIndex];
  parameters->pPmSamplingObject = reinterpret_cast<CUpti_PmSampling_Object*>(&device);
END_FAKE
FAKE(cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params) END_FAKE
FAKE(cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params)
  if (parameters->configSize != 8 || std::memcmp(parameters->pConfig, "CONFIGUR", 8) != 0) return CUPTI_ERROR_INVALID_PARAMETER;
  bool is_time = parameters->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  if (is_time && setting("FAKE_COUNTERS_CLOCKS_PER_US", 0)) return CUPTI_ERROR_NOT_SUPPORTED;
  device_of(parameters->pPmSamplingObject).interval =
      parameters->samplingInterval * (is_time ? 1 : 1000) / (is_time ? 1 : setting("FAKE_COUNTERS_CLOCKS_PER_US", 1));
END_FAKE
FAKE(cuptiPmSamplingGetCounterDataSize, CUpti_PmSampling_GetCounterDataSize_Params)
  device_of(parameters->pPmSamplingObject).image_samples = setting("FAKE_COUNTERS_IMAGE", 1L << 40);
  parameters->counterDataSize = 64;
END_FAKE
FAKE(cuptiPmSamplingCounterDataImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize_Params)
  if (parameters->counterDataSize != 64) return CUPTI_ERROR_INVALID_PARAMETER;
  image_of(parameters->pCounterData).count = 0;
END_FAKE
FAKE(cuptiPmSamplingStart, CUpti_PmSampling_Start_Params)
  Device& device = device_of(parameters->pPmSamplingObject);
  if (device.was_started) return CUPTI_ERROR_INVALID_OPERATION;
  device.was_started = true;
  device.begin = now();
  device.next = 0;
END_FAKE
FAKE(cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params)
  Device& device = device_of(parameters->pPmSamplingObject);
  if (!device.was_started) return CUPTI_ERROR_INVALID_OPERATION;
  device.was_started = false;
  device.end = now();
END_FAKE
FAKE(cuptiPmSamplingDecodeData, CUpti_PmSampling_DecodeData_Params)
  Device& device = device_of(parameters->pPmSamplingObject);
  Image& image = image_of(parameters->pCounterDataImage);
  uint64_t until = device.was_started ? now() : device.end;
  uint64_t ended = until > device.begin + device.interval ? (until - device.begin) / device.interval : 0;
  if (device.was_started && setting("FAKE_COUNTERS_HELD", 0)) ended = 0;
  uint64_t waiting = ended > device.next ? ended - device.next : 0;
  image.first = device.next;
  image.count = std::min(waiting, device.image_samples);
  device.next += image.count;
  bool is_full = ++device.decodings == setting("FAKE_COUNTERS_FULL_AT", 0) || waiting > image.count;
  parameters->decodeStopReason = is_full ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                         : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
END_FAKE
FAKE(cuptiPmSamplingGetCounterDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params)
  uint64_t count = image_of(parameters->pCounterDataImage).count;
  parameters->numTotalSamples = parameters->numPopulatedSamples = parameters->numCompletedSamples = count;
END_FAKE
FAKE(cuptiPmSamplingCounterDataGetSampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo_Params)
  Device& device = device_of(parameters->pPmSamplingObject);
  uint64_t number = image_of(parameters->pCounterDataImage).first + parameters->sampleIndex;
  // The first sample holds all since the device was made ready.
  parameters->startTimestamp = number ? device.begin + (number - 1) * device.interval : device.begin - 400'000'000;
  parameters->endTimestamp = device.begin + number * device.interval;
  if (static_cast<long>(number) >= setting("FAKE_COUNTERS_BACK_AT", 1L << 40)) {
    parameters->startTimestamp -= 173;
    parameters->endTimestamp -= 173;
  }
END_FAKE

#endif

// What else a libcupti must have to be taken for one.
extern "C" {
CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = FAKE_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "MADE_TO_FAIL";
  return CUPTI_SUCCESS;
}
#define UNUSED(function) \
  CUptiResult function() { return CUPTI_ERROR_NOT_SUPPORTED; }
UNUSED(cuptiSubscribe)
UNUSED(cuptiUnsubscribe)
UNUSED(cuptiEnableCallback)
UNUSED(cuptiEnableAllDomains)
UNUSED(cuptiGetDeviceId)
UNUSED(cuptiActivityRegisterCallbacks)
UNUSED(cuptiActivityRegisterTimestampCallback)
UNUSED(cuptiActivitySetAttribute)
UNUSED(cuptiActivityEnable)
UNUSED(cuptiActivityDisable)
UNUSED(cuptiActivityFlushAll)
UNUSED(cuptiActivityGetNextRecord)
UNUSED(cuptiActivityGetNumDroppedRecords)
UNUSED(cuptiFinalize)
}
