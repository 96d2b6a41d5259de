// What the two halves of the fake libcupti share: CUPTI's functions, and what tests tell it to do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_cupti.h"

#ifndef FAKE_CUPTI_VERSION
#define FAKE_CUPTI_VERSION 130001
#endif

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
};

// Hidden: a process may hold several of these libraries.
namespace fake_cupti __attribute__((visibility("hidden"))) {

extern thread_local bool t_is_at_exit;  // in a callback there
constexpr bool kIsCuda12 = FAKE_CUPTI_VERSION < 10000;

// Of a record; 0: of no kind that the fake knows.
inline size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return kIsCuda12 ? 208 : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    default: return 0;
  }
}

struct Buffer {
  uint8_t* bytes = nullptr;
  size_t size = 0;
  size_t used = 0;
  bool is_complete = true;
};

struct State {
  std::mutex mutex;
  CUpti_Subscriber_st subscriber;
  bool has_subscriber = false;
  bool is_held = false;
  std::set<std::pair<uint32_t, uint32_t>> enabled;
  std::set<uint32_t> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc time = nullptr;
  uint8_t zeroed = 0;
  Buffer filling;
  std::vector<Buffer> full;
  bool is_reversed = false;
  bool uses_worker = false;
  uint32_t flush_ms = 0;
  size_t dropped = 0;
  uint32_t buffers_out = 0;
  bool were_zero = true;
  uint64_t callbacks = 0;
  uint64_t flushes = 0;
  uint64_t finalized = 0;
  bool was_finalized_at_exit = false;
  std::map<std::string, CUptiResult> failures;
};

State& state();
void call_subscriber(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
// The buffers to give back now, out of the state.
std::vector<Buffer> take_buffers(bool also_unfinished, bool also_filling);
void give_back(const std::vector<Buffer>& buffers);

}  // namespace fake_cupti
