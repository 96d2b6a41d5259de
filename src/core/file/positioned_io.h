// Reads and writes all of some bytes at an offset of a file, whatever signals arrive meanwhile.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace rlscope {

// Each returns an errno, 0 for success; the end of the file is EIO.
inline int read_at(int fd, void* data, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    ssize_t got = pread(fd, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += static_cast<size_t>(got);
  }
  return 0;
}

inline int write_at(int fd, const void* data, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    ssize_t put = pwrite(fd, static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : EIO;
    done += static_cast<size_t>(put);
  }
  return 0;
}

}  // namespace rlscope
