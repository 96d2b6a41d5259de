// The on-disk records of a trace: the contract with rlscope/trace/format.py. docs/trace-format.md explains every field.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tagged_records.h"
#include "vocabulary.h"

namespace rlscope {

constexpr char kFileMagic[8] = {'R', 'L', 'S', 'C', 'O', 'P', 'E', '\0'};
constexpr uint32_t kOldestReadableVersion = 2;  // without header_crc32c, file_bytes and chunks, which are 0 there
constexpr uint32_t kFileHeaderBytes = 4096;
constexpr uint32_t kChunkMagic = 0x4B4E4843;  // "CHNK"
constexpr uint32_t kOldestWithSummedHeaders = 9;  // older checksums of chunks are of the payload alone
constexpr uint32_t kOldChunkAlignment = 4096;      // of these older files
constexpr uint32_t kChunkAlignment = 64;    // so that short threads, which leave the rest of theirs, share a page
constexpr uint32_t kNoStream = 0xFFFFFFFF;    // the stream of a catalog chunk

enum class ClockKind : uint32_t { kTsc = 1, kMonotonic = 2 };
enum class EndReason : uint32_t {
  kNone = 0,     // still recording, or killed
  kStopped = 1,  // stopped by the program, or the interpreter ended
  kExit = 2,     // the program called _exit()
  kFailed = 3,   // the trace could not be written further; stop_errno says why
  kLimit = 4,    // a limit of `rlscope record` was reached
};
enum class ChunkKind : uint16_t { kEvents = 1, kCatalog = 2, kFree = 3, kDevice = 4, kStacks = 5 };
constexpr uint16_t kChunkClosed = 1;  // payload_bytes and crc32c are valid

// Every event record starts with a prefix varint (delta_ticks << 2 | RecordKind), so its first byte is never zero.
// kExpected, whose delta is not 0: a begin without a name id. It begins the name that was begun behind the last begin in this
// chunk of a name whose id has the same remainder by kExpectedNames as that of the begin before this one.
// kOther: what follows is one of OtherTag, and its numbers, each stored as value + 1.
enum RecordKind : uint32_t { kExpected = 0, kBegin = 1, kEnd = 2, kOther = 3 };
constexpr uint32_t kExpectedNames = 256;
constexpr uint64_t kSampleDiscarded = 1;  // bits of a sample's flags
constexpr uint64_t kSampleOfTask = 2;     // of a coroutine or generator, else of the thread
constexpr uint64_t kCollectiveUnwaited = 1;  // the bit of a collective's flags: nobody waited, so its end is not known
// Whose memory: the process's in the host, or what a library's allocator has given out of a device's.
enum class MemoryOwner : uint32_t { kHost = 0, kPytorch = 1, kJax = 2 };

// A record of a device chunk: prefix varints (start_delta << 3 | DeviceWork), duration + 1, name id, launch site id, and for
// copies and memsets bytes + 1. start_delta is in ticks since the start of the record before, so starts never decrease
// within a chunk; a record that starts earlier begins a new chunk, and chunks of one queue may overlap.
enum DeviceWork : uint32_t {
  kKernel = 1,
  kCopy = 2,
  kMemset = 3,
  kCuptiWork = 4,  // on the host: CUPTI or the driver did work that the program did not ask for
  kGap = 5,       // on the host: nothing was recorded, because another profiler had CUPTI
};

// A record of a stacks chunk is three prefix varints: ticks since the record before it + 1, the thread's id in the system
// + 1, and the id of the stack that the thread had then + 1. Where the thread changed its stack while it was read, and so
// none is known, the id is kTornStack.
constexpr uint32_t kTornStack = 0;
// Stacks are looked at once a period, anywhere within it: this one where lines are asked for.
constexpr int64_t kStackPeriod_ns = 1'000'000;
// Those of threads in native calls, which say who made the call, once in so many of these. So are all, where lines are not
// asked for, or less often where that would cost too much.
constexpr int64_t kPeriodsOfCalls = 8;

enum class EntryType : uint32_t { kName = 1, kProperties = 2, kQueue = 3, kLaunchSite = 4, kCode = 5, kStack = 6 };
enum class NameKind : uint8_t { kOperation = 1, kPhase = 2, kBoundary = 3, kDeviceWork = 4 };

struct ClockPair {
  uint64_t ticks;
  uint64_t monotonic_ns;
  uint64_t realtime_ns;
};
static_assert(sizeof(ClockPair) == 24);

struct FileHeader {
  char magic[8];
  uint32_t format_version;
  uint32_t header_bytes;
  ClockKind clock;
  uint32_t tick_shift;
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t start_ticks;
  uint64_t stop_ticks;  // 0 until the recording ended in an orderly way
  EndReason end_reason;
  uint32_t stop_errno;
  int32_t exit_status;  // up to version 8, with kExit
  uint32_t header_crc32c;  // of this struct up to `ended`, with 0 here, once stop_ticks is set
  uint64_t dropped_records;
  uint64_t misnested_operations;
  uint64_t dropped_device_records;  // that CUPTI could not keep, or that could not be written
  uint64_t unresolved_launches;     // device records whose launching call is not known
  uint8_t boot_id[16];
  ClockPair first_pair;
  ClockPair last_pair;  // read at stop_ticks, once that is set
  uint64_t file_bytes;  // once stop_ticks is set, like `chunks`
  uint64_t chunks;      // that are closed
  uint64_t cut_stacks;  // that could only be written without their outer frames
  // Written by whoever knows it, also when the rest is finished. The number is in the lower half, its complement in the
  // upper one; 0 where there is none.
  uint64_t ended;              // the status that the process gave to exit()
  uint64_t children_without_file;  // forked off, that could not make a file; of the last one, the errno in the top byte
};
static_assert(sizeof(FileHeader) == 200, "the Python reader unpacks 200 bytes");
static_assert(offsetof(FileHeader, start_ticks) == 32 && offsetof(FileHeader, first_pair) == 112);
// Up to here a header is summed, by its version.
constexpr size_t summed_header_bytes(uint32_t version) {
  return version < kOldestWithSummedHeaders ? offsetof(FileHeader, cut_stacks) : offsetof(FileHeader, ended);
}

// Who has taken which lock last, and which thread waits for what: as it is now, behind the header in its page. An object is
// the address of a lock or of a semaphore that was inherited, the hash of another semaphore's name, or the number of a thread
// or process in the system. Of locks, those that were taken long ago make room for others.
enum class ObjectKind : uint32_t { kLock = 1, kSemaphore = 2, kThread = 3, kProcess = 4 };
struct TakenLock {
  uint64_t object;  // 0: none
  uint64_t thread_id;
  uint64_t ticks;  // of the thread's last record before it
};
struct AwaitedObject {
  uint64_t object;
  uint32_t thread_id;  // 0: this place is free
  ObjectKind kind;
};
constexpr uint32_t kLockPageOffset = 1024;
constexpr uint32_t kTakenLocks = 96;
constexpr uint32_t kPlacesOfLock = 8;  // one after the other, of which a lock has one
constexpr uint32_t kAwaitedObjects = 48;
struct LockPage {
  TakenLock taken[kTakenLocks];
  AwaitedObject awaited[kAwaitedObjects];
};
static_assert(sizeof(TakenLock) == 24);
static_assert(sizeof(AwaitedObject) == 16);
static_assert(kLockPageOffset + sizeof(LockPage) == kFileHeaderBytes);

// How many children could not make a file, and the errno of the last one.
constexpr uint32_t children_of(uint32_t cell) { return cell & 0xFFFFFF; }
constexpr uint32_t errno_of(uint32_t cell) { return cell >> 24; }
constexpr uint64_t with_complement(uint32_t number) { return uint64_t{~number} << 32 | number; }
constexpr bool has_complement(uint64_t cell) { return cell == with_complement(static_cast<uint32_t>(cell)); }

struct ChunkHeader {
  uint32_t magic;  // stored last: a chunk without it was never used
  ChunkKind kind;
  uint16_t flags;
  uint32_t chunk_bytes;     // the whole chunk, a multiple of kChunkAlignment
  uint32_t payload_offset;  // from the start of the chunk; the open frames lie before it
  uint32_t payload_bytes;
  uint32_t crc32c;  // of closed chunks, from this header (with 0 here) to the end of the payload
  uint32_t stream;
  uint32_t sequence;
  uint64_t base_ticks;    // time of the record before the chunk, of a device chunk its first start: deltas count from here
  uint64_t switch_ticks;  // what changing to this chunk cost the thread
  uint32_t depth;         // frames open where the chunk starts; their name ids follow this header, outermost first
  uint32_t reserved;
  uint64_t thread_id;  // the operating system's
};
static_assert(sizeof(ChunkHeader) == 64, "the Python reader unpacks 64 bytes");

struct NameEntry {
  uint32_t id;
  NameKind kind;
  Category category;
  uint16_t name_bytes;
};
static_assert(sizeof(NameEntry) == 8);

// What the device chunks of a stream are the work of: one CUDA stream, or the host.
struct QueueEntry {
  uint32_t stream;  // of the chunks
  uint32_t device;  // CUDA's number in this process; kHost: overhead and gaps
  uint32_t context;
  uint32_t cuda_stream;
};
static_assert(sizeof(QueueEntry) == 16);
constexpr uint32_t kHost = 0xFFFFFFFF;

// Who launched device work: the thread, and where it was then. A thread without an operation has the main thread's.
struct LaunchSite {
  uint32_t id;         // counts from 1
  uint32_t stream;     // of the thread; kNoStream: not known
  uint32_t operation;  // name id of the innermost operation; 0: none
  Stage stage;
  uint8_t reserved[3];
};
static_assert(sizeof(LaunchSite) == 16);

// A Python function; its qualified name and its file follow, in UTF-8.
struct CodeEntry {
  uint32_t id;  // counts from 1
  uint32_t first_line;
  uint16_t name_bytes;
  uint16_t file_bytes;
};
static_assert(sizeof(CodeEntry) == 12);

// A frame of a Python stack, and the frames that called it.
struct StackEntry {
  uint32_t id;      // counts from 1
  uint32_t caller;  // an id below this one; 0: nobody in Python, or the frames beyond are not recorded
  uint32_t code;
  uint32_t line;    // 0: not known
};
static_assert(sizeof(StackEntry) == 16);

}  // namespace rlscope
