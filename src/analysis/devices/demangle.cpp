// Asks the C++ runtime for the name, and refuses texts that would be out of all proportion.
#include "demangle.h"

#include <cstddef>

// abi::__cxa_demangle cannot be stopped, and a hostile name of 500 bytes stands for more text than any memory holds. The
// part of libstdc++ beneath it, which only the static library has, hands over the text piece by piece.
extern "C" int __gcclibcxx_demangle_callback(const char* mangled, void (*on_text)(const char*, size_t, void*), void* state);

namespace rlscope {
namespace {

constexpr size_t kAlwaysAllowed = 256;
constexpr size_t kBytesPerByte = 16;

struct Text {
  std::string text;
  size_t limit;
};

struct TooLong {};

void append(const char* piece, size_t size, void* state) {
  auto& result = *static_cast<Text*>(state);
  if (size > result.limit - result.text.size()) throw TooLong{};
  result.text.append(piece, size);
}

}  // namespace

std::string demangled(const std::string& name) {
  if (name.compare(0, 2, "_Z") != 0 || name.find('\0') != std::string::npos) return name;
  Text result{{}, kAlwaysAllowed + kBytesPerByte * name.size()};
  try {
    return __gcclibcxx_demangle_callback(name.c_str(), append, &result) == 0 ? result.text : name;
  } catch (const TooLong&) {
    return name;
  }
}

}  // namespace rlscope
