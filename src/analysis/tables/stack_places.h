// Which frames of Python stacks are places of a program: not those of the recorder, nor of the import system.
#pragma once
#include <cstdint>
#include <string_view>

#include "trace_file.h"

namespace rlscope {

bool is_place(std::string_view file);

// The innermost stack of these, from this one on outwards, whose frame is a place; 0: none is.
inline uint32_t place_from(const TraceFile& file, uint32_t stack) {
  while (stack && !is_place(file.codes()[file.stacks()[stack].code].file)) stack = file.stacks()[stack].caller;
  return stack;
}

}  // namespace rlscope
