// What launches and gaps need to know of a name, read without a lock.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "api.h"
#include "trace_format.h"

namespace rlscope {

struct NameFacts {
  uint16_t is_operation : 1;
  uint16_t is_boundary : 1;
  uint16_t is_of_library : 1;  // a boundary of one that is known, or of a wait
  uint16_t is_native : 1;      // a boundary of native code that computes
  uint16_t is_wait : 1;        // calls of this name are waits
  uint16_t is_cuda : 1;        // they are of CUDA
  uint16_t stage : 5;          // of an operation
};
static_assert(sizeof(NameFacts) == 2);

constexpr uint32_t kMostNameFacts = 1 << 26;
extern RLSCOPE_API std::atomic<NameFacts*> g_name_facts;  // by id, so many; null before the first name, and where there is no memory

// To be called once for an id, before it is used, by one thread at a time.
void note_name(uint32_t id, NameKind kind, Category category, std::string_view name);

// Of an id that was not noted nothing holds.
inline NameFacts name_facts(uint32_t id) {
  const NameFacts* facts = g_name_facts.load(std::memory_order_acquire);
  return facts && id < kMostNameFacts ? facts[id] : NameFacts{};
}

}  // namespace rlscope
