// A site is a line and its callers, as a hash.
#include "sites.h"

namespace rlscope {
namespace {

// How many callers tell a place from others: a method of the agent serves both purposes, its callers do not.
constexpr int kCallers = 4;

}  // namespace

uint64_t mix(uint64_t number, uint64_t more) {
  number = (number ^ more) * 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio, as in Fibonacci hashing
  return number ^ number >> 32;
}

uint64_t site_of(PythonFrame* frame) {
  uint64_t site = 0;
  for (int caller = 0; frame && caller < kCallers; caller++, frame = caller_of(frame)) {
    site = mix(site, instruction_of(frame));
  }
  return site;
}

}  // namespace rlscope
