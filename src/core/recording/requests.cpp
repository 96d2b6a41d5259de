// Makes and maps the page of requests: looking at it is then one load.
#include "requests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace rlscope {

Gate rlscope_gate;
std::atomic<bool> Requests::are_mapped_{false};
std::atomic<uint32_t> Requests::followed_{0};
std::atomic<uint64_t> Requests::due_ns_{kNotDue};
std::atomic<bool> Requests::has_failed_{false};
std::atomic<bool> Requests::is_failing_{false};
void (*Requests::on_news_)() = nullptr;

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// By the system call: Python and the C library may be older than this one.
int sealed_memory(const char* name, size_t bytes) {
  auto fd = static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return fd;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 && fcntl(fd, F_ADD_SEALS, kSeals) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// What a number of a process leads to may be anything by now; opening that must do nothing.
int open_page(const std::string& path, ino_t inode) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return -1;
  errno = ESTALE;
  if (!S_ISREG(status.st_mode) || status.st_ino != inode) return -1;
  int fd = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  bool is_page = fstat(fd, &status) == 0 && status.st_ino == inode && fcntl(fd, F_GET_SEALS) == kSeals &&
                 status.st_size == static_cast<off_t>(SharedPage::kBytes);
  if (is_page) return fd;
  close(fd);
  errno = ESTALE;
  return -1;
}

}  // namespace

int Requests::make_page() { return sealed_memory("rlscope-requests", SharedPage::kBytes); }

int Requests::map(const std::string& path, ino_t inode, void (*on_news)()) {
  int fd = open_page(path, inode);
  if (fd < 0) return errno;
  void* page = mmap(&rlscope_gate, SharedPage::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  int error = page == MAP_FAILED ? errno : 0;
  close(fd);
  if (error) return error;
  on_news_ = on_news;
  are_mapped_ = true;
  return 0;
}

}  // namespace rlscope
