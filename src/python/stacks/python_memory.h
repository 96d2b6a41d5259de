// Reads memory of this process that another thread may change, free or unmap meanwhile.
#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <vector>

namespace rlscope {

// Copies `bytes` from `from`; false where not all of them are mapped.
bool read_memory(const void* from, void* to, size_t bytes);

// Copies several places at once.
class MemoryReads {
 public:
  void clear() { to_.clear(), from_.clear(); }
  void add(const void* from, void* to, size_t bytes);
  bool read() const;

 private:
  std::vector<iovec> to_, from_;
};

}  // namespace rlscope
