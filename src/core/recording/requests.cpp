// Maps the file of requests: looking at it is then one load.
#include "requests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rlscope {

Gate rlscope_gate;
std::atomic<bool> Requests::are_mapped_{false};
std::atomic<uint32_t> Requests::followed_{0};
void (*Requests::on_news_)() = nullptr;

int Requests::map(const std::string& path, void (*on_news)()) {
  int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno;
  struct stat status;
  int error = fstat(fd, &status) != 0 ? errno : 0;
  // A shorter file would be a fault at the first look.
  if (!error && (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(sizeof(uint32_t)))) error = EINVAL;
  void* page = error ? MAP_FAILED : mmap(&rlscope_gate, Gate::kPageBytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
  if (!error && page == MAP_FAILED) error = errno;
  close(fd);
  if (error) return error;
  on_news_ = on_news;
  are_mapped_ = true;
  return 0;
}

}  // namespace rlscope
