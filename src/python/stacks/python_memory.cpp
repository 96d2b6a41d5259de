// The kernel copies, and says where there is nothing to copy: a plain load would end the program there.
#include "python_memory.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace rlscope {

bool read_memory(const void* from, void* to, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(from) < bytes) return false;
  iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

void MemoryReads::add(const void* from, void* to, size_t bytes) {
  to_.push_back({to, bytes});
  from_.push_back({const_cast<void*>(from), bytes});
}

bool MemoryReads::read() const {
  for (size_t at = 0; at < to_.size(); at += IOV_MAX) {
    size_t count = std::min(to_.size() - at, size_t{IOV_MAX});
    size_t wanted = 0;
    for (size_t i = at; i < at + count; i++) wanted += to_[i].iov_len;
    ssize_t got = process_vm_readv(getpid(), &to_[at], count, &from_[at], count, 0);
    if (got != static_cast<ssize_t>(wanted)) return false;
  }
  return true;
}

}  // namespace rlscope
