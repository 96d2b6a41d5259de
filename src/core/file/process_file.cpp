// Chunk allocation and catalog of one process's trace file.
#include "process_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "clock.h"
#include "crc32c.h"
#include "free_space.h"
#include "lock_page.h"
#include "positioned_io.h"

namespace rlscope {

LockPage* LockTable::page_ = nullptr;
uint64_t LockTable::shown_ = 0;

namespace {

constexpr uint32_t kCatalogChunkBytes = 16 << 10;
constexpr uint32_t kSmallestRest = 2 << 10;  // a smaller rest is not worth a chunk
constexpr size_t kMostMoved = 1 << 16;  // more chunks than are moved when the file is finished
constexpr int kMaxFilesPerPid = 10000;

uint32_t round_to(uint64_t unit, uint64_t bytes) { return static_cast<uint32_t>((bytes + unit - 1) / unit * unit); }
uint32_t round_to_pages(uint64_t bytes) { return round_to(static_cast<uint64_t>(getpagesize()), bytes); }

// Makes the pages exist on disk. Some file systems know no fallocate: there zeroes are written.
int allocate_pages(int fd, uint64_t offset, uint32_t bytes) {
  if (fallocate(fd, 0, static_cast<off_t>(offset), bytes) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  static const char zeroes[4096] = {};
  int error = 0;
  for (uint32_t done = 0; done < bytes && !error; done += sizeof zeroes) {
    error = write_at(fd, zeroes, sizeof zeroes, offset + done);
  }
  return error;
}

// Which machine this is, read once: a child that is forked off when no descriptor is left could not ask again.
void read_boot_id(uint8_t (&boot_id)[16]) {
  static uint8_t known[16];
  static bool is_known = false;
  char text[37] = {};
  int fd = is_known ? -1 : open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    is_known = read(fd, text, 36) == 36;
    close(fd);
  }
  size_t nibble = 0;
  for (char c : text) {
    int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0 || nibble >= 32) continue;
    known[nibble / 2] = static_cast<uint8_t>(known[nibble / 2] << 4 | value);
    nibble++;
  }
  std::memcpy(boot_id, known, sizeof known);
}

// Nobody may remove a file that is locked: `rlscope record --force` asks, as others ask who still records. Who asks has a lock
// itself for some microseconds. Some file systems know no locks.
void show_that_it_is_written(int fd) {
  for (int tries = 0; tries < 100 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; tries++) usleep(100);
  errno = 0;
}

// Programs expect to get low numbers themselves: that of a standard stream which they closed, or the first one that is free.
constexpr int kHighDescriptor = 512;

int open_out_of_the_way(const std::string& path, int flags) {
  int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (moved < 0 && fd > STDERR_FILENO) return fd;  // so many are not allowed
  if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int error = errno;
  close(fd);
  errno = error;
  return moved;
}

}  // namespace

int ProcessFile::create(const std::string& directory) {
  close_descriptor();
  for (int n = 0; n < kMaxFilesPerPid && fd_ < 0; n++) {
    path_ = directory + "/" + std::to_string(getpid()) + "-" + std::to_string(n) + ".rlscope";
    fd_ = open_out_of_the_way(path_, O_RDWR | O_CREAT | O_EXCL);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  struct stat status{};
  int error = fd_ < 0 || fstat(fd_, &status) != 0 ? errno : allocate_pages(fd_, 0, kFileHeaderBytes);
  if (!error) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
    return 0;
  }
  if (fd_ >= 0) {
    close(fd_);
    fd_ = -1;
    unlink(path_.c_str());  // an empty one would be of a process that was killed
  }
  return error;
}

int ProcessFile::open_in(const std::string& directory) {
  if (int error = create(directory)) return error;
  show_that_it_is_written(fd_);
  LockPage before = LockTable::is_shown() ? *LockTable::page() : LockPage{};  // who has a lock still has it
  // In the place of the header before it: a thread that is late to count something does so there, wherever that is.
  int flags = MAP_SHARED | (mapped_ ? MAP_FIXED : 0);
  void* page = mmap(mapped_, kFileHeaderBytes, PROT_READ | PROT_WRITE, flags, fd_, 0);
  if (page == MAP_FAILED) {
    int error = errno;
    close_descriptor();
    return error;
  }
  has_failed_ = false;
  end_ = kFileHeaderBytes;
  free_.clear();
  closed_.clear();
  closed_chunks_ = 0;
  catalog_.unmap();  // of a file that could not be begun
  catalog_used_ = catalog_sequence_ = 0;
  header_ = new_header();
  mapped_ = static_cast<FileHeader*>(page);
  *mapped_ = header_;
  losses_.count_in(mapped_);
  LockTable::show_in(mapped_);
  *reinterpret_cast<LockPage*>(reinterpret_cast<uint8_t*>(page) + kLockPageOffset) = before;
  return 0;
}

FileHeader ProcessFile::new_header() const {
  FileHeader header{};
  std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
  header.format_version = kFormatVersion;
  header.header_bytes = kFileHeaderBytes;
  header.clock = g_clock_kind;
  header.tick_shift = tick_shift();
  header.pid = static_cast<uint32_t>(getpid());
  header.parent_pid = static_cast<uint32_t>(getppid());
  read_boot_id(header.boot_id);
  header.first_pair = header.last_pair = read_clock_pair();
  header.start_ticks = header.first_pair.ticks;
  return header;
}

void ProcessFile::mark_failed(int error) {
  has_failed_ = true;
  mapped_->stop_errno = header_.stop_errno = static_cast<uint32_t>(error);
  mapped_->end_reason = header_.end_reason = EndReason::kFailed;
}

bool ProcessFile::is_ours(int fd) const {
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// A program that closes all descriptors, as daemons and launchers do, closes ours too, and what it opens next has the
// number: so before each use the file is compared. Opened again it goes on; the number stays the program's.
int ProcessFile::find_descriptor() {
  if (is_ours(fd_)) return 0;
  fd_ = open_out_of_the_way(path_, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd_ < 0) return errno;
  if (is_ours(fd_)) {
    show_that_it_is_written(fd_);
    return 0;
  }
  close(fd_);
  fd_ = -1;
  return ESTALE;
}

void ProcessFile::close_descriptor() {
  if (is_ours(fd_)) close(fd_);
  fd_ = -1;
}

int ProcessFile::open_region(uint32_t bytes, Region& region) {
  if (!free_.empty()) {
    region = free_.back();
    free_.pop_back();
    return 0;
  }
  if (int error = allocate_pages(fd_, end_, bytes)) return error;
  region = {end_, bytes};
  end_ += bytes;
  return 0;
}

int ProcessFile::map_region(const Region& region, MappedChunk& chunk) {
  int error = chunk.map(fd_, region);
  if (!error) return 0;
  free_.push_back(region);
  mark_free(fd_, region);  // where that fails, readers find no chunk there, and say so
  return error;
}

void ProcessFile::update_clock() { mapped_->last_pair = header_.last_pair = read_clock_pair(); }

int ProcessFile::take_chunk(uint32_t bytes, MappedChunk& chunk) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (int error = find_descriptor()) return error;
  Region region;
  if (int error = open_region(round_to_pages(bytes), region)) return error;
  update_clock();  // two threads may change chunks at once, and a pair belongs together
  return map_region(region, chunk);
}

void ProcessFile::close_chunk(MappedChunk& chunk, uint32_t payload_bytes, bool is_last) {
  Closed closed = seal_chunk(chunk, payload_bytes, is_last);
  std::lock_guard<std::mutex> lock(mutex_);
  note_closed(closed);
}

ProcessFile::Closed ProcessFile::seal_chunk(MappedChunk& chunk, uint32_t payload_bytes, bool is_last) {
  ChunkHeader& header = chunk.header();
  Region region = chunk.region();
  // At least one zero behind the payload: until the chunk is closed, that ends it.
  uint32_t used = round_to(kChunkAlignment, header.payload_offset + uint64_t{payload_bytes} + 1);
  if (!is_last || used > region.bytes || region.bytes - used < kSmallestRest) used = region.bytes;
  if (used < region.bytes) MappedChunk::store_free_space(chunk.start() + used, region.bytes - used);
  header.chunk_bytes = used;
  header.payload_bytes = payload_bytes;
  header.flags = kChunkClosed;
  uint32_t crc = crc32c(0, &header, sizeof header);
  header.crc32c = crc32c(crc, chunk.start() + sizeof header, header.payload_offset - sizeof header + payload_bytes);
  ChunkHeader unclosed = header;
  unclosed.flags = 0;
  auto* mapped = reinterpret_cast<ChunkHeader*>(chunk.start());
  *mapped = unclosed;
  std::atomic_thread_fence(std::memory_order_release);
  mapped->flags = header.flags;
  Closed closed{{region.offset, used}, {region.offset + used, region.bytes - used}, header.kind != ChunkKind::kFree};
  chunk.unmap();
  return closed;
}

void ProcessFile::note_closed(const Closed& closed) {
  if (closed.has_content) {
    closed_.push_back(closed.chunk);
    closed_chunks_++;
    if (closed_.size() > 2 * kMostMoved) closed_.erase(closed_.begin(), closed_.end() - kMostMoved);
  }
  if (closed.rest.bytes) free_.push_back(closed.rest);
}

int ProcessFile::write_entry(EntryType type, std::string_view fixed, std::string_view text) {
  uint32_t bytes = static_cast<uint32_t>(sizeof(uint32_t) + fixed.size() + text.size() + 3) & ~3u;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!catalog_.is_mapped() || catalog_.header().payload_offset + catalog_used_ + bytes > catalog_.header().chunk_bytes) {
    // Always fresh: a rest from the free list may be too small for the entry.
    uint32_t size = std::max(round_to_pages(sizeof(ChunkHeader) + bytes), round_to_pages(kCatalogChunkBytes));
    if (int error = find_descriptor()) return error;
    if (int error = allocate_pages(fd_, end_, size)) return error;
    end_ += size;
    MappedChunk fresh;
    if (int error = map_region({end_ - size, size}, fresh)) return error;
    if (catalog_.is_mapped()) note_closed(seal_chunk(catalog_, catalog_used_, false));
    catalog_ = fresh;
    catalog_used_ = 0;
    catalog_.header().sequence = catalog_sequence_++;
    catalog_.begin(ChunkKind::kCatalog);
  }
  uint8_t* entry = catalog_.payload() + catalog_used_;
  std::memcpy(entry + sizeof(uint32_t), fixed.data(), fixed.size());
  std::memcpy(entry + sizeof(uint32_t) + fixed.size(), text.data(), text.size());
  std::atomic_thread_fence(std::memory_order_release);
  *reinterpret_cast<volatile uint32_t*>(entry) = bytes << 8 | static_cast<uint32_t>(type);
  catalog_used_ += bytes;
  return 0;
}

int ProcessFile::write_name(uint32_t id, NameKind kind, Category category, std::string_view name) {
  if (name.size() > UINT16_MAX) {
    size_t end = UINT16_MAX;
    while (end > 0 && (name[end] & 0xC0) == 0x80) end--;  // not inside a character
    name = name.substr(0, end);
  }
  NameEntry entry{id, kind, category, static_cast<uint16_t>(name.size())};
  return write_entry(EntryType::kName, {reinterpret_cast<const char*>(&entry), sizeof entry}, name);
}

int ProcessFile::write_properties(std::string_view json) {
  auto size = static_cast<uint32_t>(json.size());
  return write_entry(EntryType::kProperties, {reinterpret_cast<const char*>(&size), sizeof size}, json);
}

int ProcessFile::write_queue(const QueueEntry& queue) {
  return write_entry(EntryType::kQueue, {reinterpret_cast<const char*>(&queue), sizeof queue}, "");
}

int ProcessFile::write_launch_site(const LaunchSite& launch_site) {
  return write_entry(EntryType::kLaunchSite, {reinterpret_cast<const char*>(&launch_site), sizeof launch_site}, "");
}

int ProcessFile::write_code(CodeEntry code, std::string_view name, std::string_view file) {
  name = name.substr(0, UINT16_MAX);
  file = file.substr(0, UINT16_MAX);
  code.name_bytes = static_cast<uint16_t>(name.size());
  code.file_bytes = static_cast<uint16_t>(file.size());
  return write_entry(EntryType::kCode, {reinterpret_cast<const char*>(&code), sizeof code}, std::string(name).append(file));
}

int ProcessFile::write_stack(const StackEntry& stack) {
  return write_entry(EntryType::kStack, {reinterpret_cast<const char*>(&stack), sizeof stack}, "");
}

void ProcessFile::finish(EndReason reason) {
  losses_.count_in(nullptr);
  if (catalog_.is_mapped()) close_chunk(catalog_, catalog_used_, true);
  give_free_space_back();
  losses_.store_in(header_);
  header_.last_pair = read_clock_pair();
  header_.end_reason = has_failed_ ? EndReason::kFailed : reason;
  header_.file_bytes = end_;
  header_.chunks = closed_chunks_;
  header_.stop_ticks = header_.last_pair.ticks;
  header_.header_crc32c = 0;
  header_.header_crc32c = crc32c(0, &header_, summed_header_bytes(kFormatVersion));
  FileHeader unfinished = header_;
  unfinished.stop_ticks = 0;
  std::memcpy(mapped_, &unfinished, summed_header_bytes(kFormatVersion));
  std::atomic_thread_fence(std::memory_order_release);
  mapped_->stop_ticks = header_.stop_ticks;  // stored last: what is said of a finished file holds from here on
  close_descriptor();
}

void ProcessFile::note_exit(int32_t status) { mapped_->ended = with_complement(static_cast<uint32_t>(status)); }

void ProcessFile::give_free_space_back() {
  std::lock_guard<std::mutex> lock(mutex_);
  // A failure here only leaves free space in the file, which readers skip.
  if (find_descriptor() != 0) return;
  bool is_read = flock(fd_, LOCK_EX | LOCK_NB) != 0;  // whoever reads it now knows where its chunks are
  uint64_t used = compact(fd_, is_read ? std::vector<Region>() : closed_, free_, end_);
  if (ftruncate(fd_, static_cast<off_t>(used)) == 0) end_ = used;
}

void ProcessFile::note_copy() const {
  std::string notes = path_.substr(0, path_.rfind('/')) + "/unrecorded.txt";
  int fd = open(notes.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  std::string note = std::to_string(getpid()) +
                     " it was made by the system call clone itself, and recording cannot follow that; use os.fork\n";
  if (write(fd, note.data(), note.size()) < 0) errno = 0;
  close(fd);
}

void ProcessFile::abandon() {
  losses_.count_in(nullptr);
  LockTable::show_in(nullptr);
  close_descriptor();
  catalog_.unmap();
}

void ProcessFile::forget_parent() {
  if (mapped_) munmap(mapped_, kFileHeaderBytes);
  mapped_ = nullptr;
}

void ProcessFile::tell_parent(int error) {
  uint64_t before = __atomic_load_n(&mapped_->children_without_file, __ATOMIC_RELAXED), after;
  do {
    uint32_t children = children_of(children_of(static_cast<uint32_t>(before)) + 1);
    after = with_complement(static_cast<uint32_t>(error) << 24 | std::max(children, 1u));
  } while (!__atomic_compare_exchange_n(&mapped_->children_without_file, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace rlscope
