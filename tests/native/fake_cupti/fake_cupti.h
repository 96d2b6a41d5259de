// What a test can make the libcupti of our own do. The library exports CUPTI's functions and these.
#pragma once
#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// As if just loaded.
void fake_cupti_reset();

// A call of the CUDA API enters or leaves: the subscriber hears of it if it has enabled it.
void fake_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t correlation,
                     CUpti_ApiCallbackSite site);
// How many API callbacks the subscriber got.
uint64_t fake_cupti_callbacks();
void fake_cupti_context(CUpti_CallbackIdResource event, uint32_t device);
void fake_cupti_fatal_error(const char* message);

struct FakeWork {
  uint32_t correlation;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t graph = 0;  // not part of a CUDA graph
};
// Work has ended on a device: its record goes into the buffer being filled, if its kind is enabled.
void fake_cupti_kernel(const FakeWork& work, const char* name);
void fake_cupti_copy(const FakeWork& work, CUpti_ActivityMemcpyKind kind, uint64_t bytes);
void fake_cupti_peer_copy(const FakeWork& work, uint64_t bytes);
void fake_cupti_memset(const FakeWork& work, uint64_t bytes);
void fake_cupti_overhead(const FakeWork& work, CUpti_ActivityOverheadKind kind);
// A record whose work goes on: its buffer comes back by a forced flush only, and the record ends it.
void fake_cupti_unfinished_kernel();

// The buffer being filled is full: the next record goes into another one.
void fake_cupti_next_buffer();
// Full buffers come back in the opposite order.
void fake_cupti_reverse_buffers();
// Buffers come back on a thread of CUPTI's, while the flush waits.
void fake_cupti_use_worker();
// Gives full buffers back at once, as CUPTI does by itself.
void fake_cupti_deliver();
void fake_cupti_drop(size_t records);

// The function `name` gives `result` from now on.
void fake_cupti_fail(const char* name, CUptiResult result);
// Every flush takes this long.
void fake_cupti_delay_flush(uint32_t milliseconds);
// Another tool has CUPTI.
void fake_cupti_hold(bool is_held);

// What a later user of CUPTI would find.
struct FakeState {
  bool has_subscriber;
  uint32_t callbacks_enabled;
  uint32_t kinds_enabled;
  uint32_t buffers_out;  // asked for and not given back
  uint8_t zeroed_buffers;
  uint64_t time_ns;  // from the timestamp callback
};
FakeState fake_cupti_state();
bool fake_cupti_is_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
uint64_t fake_cupti_flushes();
// How often CUPTI was taken out of the process.
uint64_t fake_cupti_finalized();
// Whether that happened where CUPTI wants it: in a callback at the exit of a call.
bool fake_cupti_was_finalized_at_exit();
// Whether every buffer was zero when it was given to CUPTI.
bool fake_cupti_buffers_were_zero();
}
