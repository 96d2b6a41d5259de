// Types of fields of the rows that Python gets, whose structs cmake/swept_rows.py writes into swept_rows.h.
#pragma once
#include <cstdint>
#include <string_view>

#include "trace_format.h"

namespace rlscope {

enum class Resource : uint8_t;
enum class LoopPart : uint8_t;
enum class TrackKind : uint8_t;

// Of a kernel, as its file has it; Python gets it as it stands in the source.
struct MangledName {
  std::string_view text;
};

// The class that declares a struct, and its fields as they were then: their names, with spaces between them.
struct PythonClass {
  const char* module;
  const char* name;
  const char* fields;
};

}  // namespace rlscope
