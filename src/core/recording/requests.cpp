// Maps the file of requests: looking at it is then one load.
#include "requests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rlscope {

std::atomic<uint32_t> Requests::none_{0};
std::atomic<const std::atomic<uint32_t>*> Requests::number_{&none_};
std::atomic<uint32_t> Requests::followed_{0};
void (*Requests::on_news_)() = nullptr;

int Requests::map(const std::string& path, void (*on_news)()) {
  int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno;
  struct stat status;
  int error = fstat(fd, &status) != 0 ? errno : 0;
  // A shorter file would be a fault at the first look.
  if (!error && (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(sizeof *number_.load()))) error = EINVAL;
  void* page = error ? MAP_FAILED : mmap(nullptr, sizeof *number_.load(), PROT_READ, MAP_SHARED, fd, 0);
  if (!error && page == MAP_FAILED) error = errno;
  close(fd);
  if (error) return error;
  on_news_ = on_news;
  number_ = static_cast<const std::atomic<uint32_t>*>(page);
  return 0;
}

}  // namespace rlscope
