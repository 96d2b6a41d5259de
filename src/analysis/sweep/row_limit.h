// How many rows a table may have: a small file can have combinations of threads, phases and names without end.
#pragma once
#include <cstddef>
#include <string>

#include "trace_file.h"

namespace rlscope {

class RowLimit {
 public:
  explicit RowLimit(const TraceFile& file) : file_(file), most_(kAlwaysAllowed + file.bytes() / kBytesPerRow) {}

  // Refuses a file that has more rows than one of its size can need, in the words `before` and `after` their number.
  void check(size_t rows, const char* before, const char* after, const char* remedy) const {
    if (__builtin_expect(rows > most_, 0)) refuse(before, after, remedy);
  }

 private:
  static constexpr size_t kAlwaysAllowed = 1 << 13;
  static constexpr size_t kBytesPerRow = 8;

  [[noreturn]] void refuse(const char* before, const char* after, const char* remedy) const {
    file_.refuse(std::string(before) + " more than " + std::to_string(most_) + " " + after +
                 ", which cannot be for a file of its size; " + remedy);
  }

  const TraceFile& file_;
  size_t most_;
};

}  // namespace rlscope
