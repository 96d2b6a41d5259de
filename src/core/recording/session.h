// The recording of this process: start, stop, fork, threads, names.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api.h"
#include "device_writer.h"
#include "losses.h"
#include "process_file.h"
#include "requests.h"
#include "stack_writer.h"
#include "stream_writer.h"
#include "trace_format.h"

namespace rlscope {

// The parts of the recorder that follow the recording.
enum class Follower : uint8_t { kMemory, kStacks, kCuda };
constexpr size_t kFollowers = 3;

// What such a part does. No lock is held during the calls.
struct SessionListener {
  void (*on_start)();  // records can be written from now on
  void (*on_stop)();   // for the last time, records can be written
  void (*on_fork_in_child)();
};

// Where a thread is: its innermost operation and the stage that this belongs to.
struct Place {
  uint32_t operation = 0;  // 0: none
  Stage stage = Stage::kNone;

  bool operator==(const Place& other) const { return operation == other.operation && stage == other.stage; }
  bool operator!=(const Place& other) const { return !(*this == other); }
};

// A thread that writes records, as another one sees it.
struct SeenThread {
  uint64_t thread_id;  // the operating system's
  bool is_main;        // it started the recording
  bool is_in_call;      // and not in Python again that was called from there
  uint64_t last_ticks;  // of its last record
};

// This thread's writer. Initial-exec: one load instead of a call on every crossing (11-13 ns a crossing against 17-18).
extern RLSCOPE_API __thread StreamWriter* t_writer __attribute__((tls_model("initial-exec")));

// Throws nothing: each library that rlscope loads has a C++ runtime of its own, and an exception that passes from one into
// another ends the process. Where there is no memory left, recording stops.
class RLSCOPE_API Session {
 public:
  // Follows from now on which operations are open, so that a recording that starts later begins inside them.
  static void arm();
  // Creates this process's file in `directory` and makes the calling thread stream 0; in a forked child the operations
  // that were open in the forking thread are opened again. Returns an errno, 0 for success.
  static int start(const std::string& directory);
  // Completes the file. The caller must make sure that no other thread writes a record meanwhile (holds the GIL).
  static void stop(EndReason reason);
  // This process is about to end with `status`, by exit() or _exit().
  static void note_exit(int32_t status);
  // As stop, but is armed from then on, so that the next recording begins inside what is open. Leaves nothing behind: a
  // process may pause any number of times.
  static void pause(EndReason reason);

  // Makes each record cost as much as so many: for measuring what one costs. The calling thread's from now on, another
  // thread's from its next chunk.
  static void amplify(uint32_t times);

  // Whether writers that begin from now on ask for how long their threads were blocked; at first they do.
  static void measure_waits(bool is_wanted) { StreamWriter::measures_waits = is_wanted; }

  static bool is_recording() { return Requests::is_recording(); }

  // The calling thread's writer, made on first use; null while nothing records.
  static StreamWriter* writer() {
    StreamWriter* writer = t_writer;
    if (__builtin_expect(writer != nullptr && !writer->is_closed(), 1)) return writer;
    return is_recording() || is_armed_.load(std::memory_order_relaxed) ? attach() : nullptr;
  }
  // The same for what is of no interest to a later recording: null while this one is only armed. Sees requests.
  static StreamWriter* recording_writer() {
    StreamWriter* writer = t_writer;
    if (__builtin_expect(writer != nullptr && writer->is_recording(), 1)) return writer;
    return Requests::is_quiet() ? nullptr : begin_to_record();
  }

  // Gives `name` an id, good until the process ends, and makes it known to this and later recordings. Where there is no
  // memory left the id is 0, which stands for none.
  static CodedId intern(NameKind kind, Category category, std::string_view name);
  static NameKind kind_of(uint32_t id);
  // The stage that an operation of this name is; kNone: no stage.
  static Stage stage_of(uint32_t id);
  static Place place_of(StreamWriter& writer);
  // The id of (thread, operation, stage) in which the calling thread is now; 0 while nothing records.
  static uint32_t launch_site();
  // The id for device work of which nobody knows who launched it; 0 while nothing records.
  static uint32_t unknown_launch_site();
  // The writer of a queue, made at first use; null while nothing records. Valid until the recording stops.
  static DeviceWriter* device_writer(uint32_t device, uint32_t context, uint32_t cuda_stream);
  // Tells `follower` of recordings from now on. The listener is kept by reference.
  static void listen(Follower follower, const SessionListener& listener);

  // The writer of stacks, made at first use; null while nothing records. Valid until the recording stops.
  static StackWriter* stack_writer();
  // Make what stacks refer to known; false while nothing records. The ids are the caller's.
  static bool write_code(const CodeEntry& code, std::string_view name, std::string_view file);
  static bool write_stack(const StackEntry& stack);
  static void look_at_threads(std::vector<SeenThread>& threads);
  // Calls `function` at a record of this thread, or at a change of chunk of another one.
  static void call_at_next_crossing(void (*function)());

  static void write_properties(std::string_view json);
  static std::string path();

  // Of the recording; while there is none they count nothing.
  static Losses& losses();
  // Stops the recording for the reason of this errno, which is said: what comes after is counted as dropped.
  static void fail(int error);

 private:
  static constexpr size_t kMostListeners = 3;

  template <typename Write>
  static bool write_entry(Write write);
  static StreamWriter* attach();
  static StreamWriter* begin_to_record();
  static void end(EndReason reason, bool stays_armed);
  static void open_inherited(StreamWriter* writer);
  static ProcessFile* file_of_this_process();
  static bool join(ProcessFile*& file, uint32_t& stream);
  static bool has_failed();
  static uint32_t intern_launch_site(uint32_t stream, uint32_t operation, Stage stage);
  static void install_handlers();
  static void prepare_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  static void on_thread_exit(void* writer);

  static std::atomic<bool> is_armed_;
};

}  // namespace rlscope
