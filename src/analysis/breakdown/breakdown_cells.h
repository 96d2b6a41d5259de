// Where an instant counts: in a cell, by category and device, of a row, by phase and scope.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "trace_format.h"

namespace rlscope {

constexpr auto kPython = static_cast<uint8_t>(Category::kPython);
constexpr auto kSimulator = static_cast<uint8_t>(Category::kSimulator);
constexpr auto kBackend = static_cast<uint8_t>(Category::kBackend);
constexpr auto kCuda = static_cast<uint8_t>(Category::kCuda);
constexpr auto kWait = static_cast<uint8_t>(Category::kWait);
constexpr auto kCudaWait = static_cast<uint8_t>(Category::kCudaWait);
constexpr auto kNative = static_cast<uint8_t>(Category::kNative);
constexpr auto kNoCore = static_cast<uint8_t>(Category::kNoCore);

// A leaf operation together with the stage it belongs to, as one number. 0: in no operation.
using Scope = uint32_t;

// Ticks by category: first those in which no device worked, then those in which one computed, and last those in which
// devices did nothing but communicate with each other.
constexpr size_t kDeviceComputes = kCategories;
constexpr size_t kDeviceCommunicates = 2 * kCategories;
constexpr size_t kCells = 3 * kCategories;
struct Row {
  uint64_t ticks[kCells] = {};
};

// Those in Python, also without a core where no device works: what a device does alone may be of another operation.
inline uint64_t python_ticks(const Row& row) {
  return row.ticks[kPython] + row.ticks[kPython + kDeviceComputes] + row.ticks[kPython + kDeviceCommunicates] + row.ticks[kNoCore];
}

// Categories in which the CPU does nothing for the thread.
constexpr uint32_t kBlockedCategories = [] {
  uint32_t bits = 0;
  for (size_t category = 0; category < kCategories; category++) {
    bits |= uint32_t{kCategoryColumns[category].turn != Turn::kWorks} << category;
  }
  return bits;
}();
constexpr bool is_blocked(uint8_t category) { return kBlockedCategories >> category & 1; }

// As tables have it.
constexpr Category folded_category(uint8_t category) { return kCategoryColumns[category].in_tables; }

// Where time counts: a cell of a row of the breakdown.
struct BreakdownPlace {
  uint32_t phase;
  Scope scope;
  uint8_t cell;  // of Row::ticks

  auto key() const { return std::tie(phase, scope, cell); }
  bool operator<(const BreakdownPlace& other) const { return key() < other.key(); }
};

}  // namespace rlscope
