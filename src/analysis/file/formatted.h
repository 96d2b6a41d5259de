// Sentences about damage, put together as printf does.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

namespace rlscope {

// The text that printf would print, cut after 511 bytes.
__attribute__((format(printf, 1, 2))) inline std::string formatted(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

}  // namespace rlscope
