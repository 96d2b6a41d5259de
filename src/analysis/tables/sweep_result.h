// What the sweep finds in a process: the rows and sums that Python gets.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective_table.h"
#include "detail.h"
#include "device_timeline.h"
#include "event_costs.h"
#include "sample_table.h"
#include "task_table.h"
#include "trace_format.h"

namespace rlscope {

// Names of operations and phases. The rows of a result refer to them: a name may be long, and a row has few bytes in
// the file.
struct Labels {
  std::vector<std::string> operations;
  std::vector<std::string> phases;
};

// kCommunication: all that the devices do.
enum class Resource : uint8_t { kCpu, kBoth, kGpu, kCpuAndCommunication, kCommunication, kIdle };
constexpr const char* kResourceLabels[] = {"cpu", "cpu+gpu", "gpu", "cpu+communication", "communication", "idle"};
inline const char* resource_label(Resource resource) { return kResourceLabels[static_cast<size_t>(resource)]; }

// Ticks of one (phase, stage, operation, category, resource).
struct BreakdownRow {
  uint32_t thread;  // 0 in the process's breakdown
  std::string_view phase;
  std::string_view stage;
  std::string_view operation;
  Category category;  // never kCudaWait, which tables call cuda
  Resource resource;
  uint64_t ticks;
};

// Overhead within one row of the breakdown; a row may have several of these.
struct OverheadRow {
  std::string_view phase;
  std::string_view stage;
  std::string_view operation;
  Category category;
  Resource resource;
  OverheadParts parts;
};

// What correction by SweepOptions::costs changes.
struct Overhead {
  std::vector<OverheadRow> removed;  // to be taken off the breakdown
  std::vector<OverheadRow> turned;   // of it, what the devices worked through: their time alone, with no category
  OverheadParts uncorrectable{};     // passed beside another thread's work or in a wait, or fitted nowhere
  std::map<std::string, uint64_t> charged, uncalibrated;  // events by the most exact key
};

struct TransitionRow {
  std::string_view stage;
  std::string_view operation;
  Category from;
  Category to;
  uint64_t count;
};

struct CudaCallRow {
  std::string_view name;
  bool waits;  // for the device
  uint64_t count;
};

// What a device did for the process. Ticks of work are sums of durations, busy ticks are not: no instant counts twice.
struct DeviceRow {
  uint32_t device;  // CUDA's number in the process
  uint64_t busy_ticks;
  uint64_t communication_ticks;  // some work was communication
  uint64_t exposed_ticks;        // of these, all was
  WorkSum kernels, copies, memsets;
};

struct DeviceOperationRow {
  uint32_t device;
  std::string_view stage;
  std::string_view operation;
  uint64_t busy_ticks;  // sums to the device's, and so do
  uint64_t exposed_ticks;
  uint64_t kernels;
};

struct DeviceWorkRow {
  uint32_t device;
  std::string_view stage;
  std::string_view operation;
  std::string_view name;  // in the file's names
  WorkSum sum;
};

// From a phase's first begin to its last end.
struct PhaseRow {
  std::string_view phase;
  uint64_t start_ticks;
  uint64_t end_ticks;
};

// Ticks of the training loop in which not all devices worked, by what the process did. Of all its life, if nothing marks
// the loop.
struct IdleRow {
  uint64_t working;  // devices: the binary digit of each one's number, modulo 64
  std::string_view stage;
  std::string_view operation;
  Category category;  // never kCudaWait
  bool is_evaluation;
  std::string_view wait;  // of category wait, as in WaitRow
  uint64_t ticks;
};

// What waited in one boundary while this was the process's phase.
struct WaitRow {
  std::string_view phase;
  std::string_view name;  // in the file's names
  uint64_t count;         // entries, on any thread
  uint64_t ticks;         // of the process, so the rows sum to the breakdown's category wait
  uint64_t ticks_in_operations;  // of these, while the owner was in an operation
  uint64_t ticks_in_loop;        // of these, in operations or in the training loop
};

// Where time in no operation lies. The training loop goes from the first `training_loop` to its last end; without one,
// from the first begin of an operation to the last end of one; a report of progress counts as either.
enum class LoopPart : uint8_t { kBefore, kIn, kAfter };
constexpr const char* kLoopPartLabels[] = {"before", "in", "after"};
inline const char* part_label(LoopPart part) { return kLoopPartLabels[static_cast<size_t>(part)]; }

// Ticks in no operation and no phase.
struct OutsideRow {
  LoopPart part;
  Category category;  // never kCudaWait
  Resource resource;
  uint64_t ticks;
};

struct StreamSummary {
  uint32_t stream;
  uint64_t thread_id;
  uint64_t events;
};

struct ProgressSummary {
  uint64_t iterations = 0;
  uint64_t first_ticks = 0;
  uint64_t first_timesteps = 0;
  uint64_t last_ticks = 0;
  uint64_t last_timesteps = 0;
  uint64_t total_timesteps = 0;
  std::optional<uint64_t> baseline_timesteps;
  uint64_t evaluation_ticks = 0;  // from the first report to the last, in the phase `evaluation`
};

// Time of the process, wherever it was spent, and calls on any thread. They sum to the breakdown over all phases.
struct FunctionRow {
  std::string_view stage;
  std::string_view operation;
  Category category;
  Resource resource;
  std::string_view function;  // empty: Python outside any boundary
  uint64_t calls;        // that began while the device worked or did not, as `resource` says
  uint64_t ticks;
};

struct SeriesRow {
  std::string_view stage;
  std::string_view operation;
  Category category;
  Resource resource;
};

// Operations, each from its begin to its end, on any thread.
struct InstanceRow {
  std::string_view stage;
  std::string_view operation;
  Instances instances;
};

// Time of lines by the functions that were open: one frame of the tree that the stacks of a stage are.
struct FrameRow {
  std::string_view stage;
  std::optional<size_t> caller;  // the place of the frame that called it, which is before its own; none: the outermost
  std::string_view function;     // qualified
  std::string_view file;
  uint64_t ticks;  // in which it was the innermost one
};

// What is added up where bins are asked for. Bins and iterations refer to series and functions by their places.
struct DetailResult {
  std::vector<FunctionRow> functions;
  std::vector<SeriesRow> series;
  std::vector<BinEntry> bins;  // in order of bins
  std::vector<Iteration> iterations;
  std::vector<IterationEntry> iteration_entries;  // in order of iterations
  std::vector<InstanceRow> instances;
  std::vector<PhaseStart> phases;  // by the places of their names
  std::vector<std::string_view> phase_names;
  std::vector<SampleSpan> samples;  // in order of their begins; of more than kMostSamples the longest
  std::vector<FrameRow> frames;
};

// From the first mark of the training loop to the last: see LoopPart.
struct LoopSpan {
  uint64_t start_ticks;
  uint64_t end_ticks;
};

// Time of the process in Python, by its innermost frame.
struct LineRow {
  std::string_view stage;
  std::string_view operation;
  std::string_view function;  // qualified; empty: after the last stack of the operation that was seen
  std::string_view file;
  uint32_t line;
  uint64_t stacks;  // that were seen there
  uint64_t ticks;   // sum to those in Python of the breakdown
};

// Memory in one scope.
struct MemoryRow {
  MemoryOwner owner;
  uint32_t device;
  std::string_view stage;
  std::string_view operation;
  uint64_t samples;
  uint64_t highest_bytes;  // of these samples
};

// Memory over time, one entry of each column per sample. Of more than MemoryTable::kMostOfSeries every second one is left out, time and again.
struct MemorySeries {
  MemoryOwner owner;
  uint32_t device;
  uint64_t peak_bytes = 0;
  std::vector<uint64_t> ticks;
  std::vector<uint64_t> used_bytes;
  std::vector<uint64_t> reports;  // of progress, before it
};

// A CUDA call that waits for a device, by the function in which it was made and the line that most often called that.
struct SyncPointRow {
  std::string_view stage;
  std::string_view operation;
  std::string_view function;  // empty: in none
  std::string_view wait;      // the CUDA call
  uint64_t count;
  uint64_t ticks;           // between its begin and its end, on its thread
  std::string_view caller;  // empty: no stack was seen
  std::string_view file;
  uint32_t line;
  uint64_t line_stacks;  // of `stacks`, those from this line
  uint64_t stacks;       // that were seen in such calls of the function
};

// A line of Python that called a native function.
struct CallSiteRow {
  std::string_view stage;
  std::string_view operation;
  Category category;
  std::string_view function;
  std::string_view caller;
  std::string_view file;
  uint32_t line;
  uint64_t stacks;          // that were seen in its calls, one in each
  uint64_t waiting_stacks;  // of these, in calls that waited for a device
  double share_of_calls;    // of the operation's calls of the function, estimated, as are
  double share_of_ticks;    // their time's, and
  double ticks;             // how long its calls took
};

struct SweepResult {
  uint64_t start_ticks = 0;
  uint64_t end_ticks = 0;
  uint64_t last_record_ticks = 0;  // of any thread or queue
  std::optional<LoopSpan> loop;  // none without a mark
  std::shared_ptr<const Labels> labels;  // what the rows refer to
  std::vector<BreakdownRow> breakdown;
  std::vector<BreakdownRow> threads;
  std::vector<TransitionRow> transitions;             // but for those of evaluation
  std::vector<TransitionRow> evaluation_transitions;  // in the phase `evaluation`
  std::map<std::string, uint64_t> events;     // by kind: operation, phase, a boundary's category, or device work
  std::map<std::string, uint64_t> crossings;  // by boundary name, of a wait without the stream that it is for
  std::vector<PhaseRow> phases;               // in the order in which they first began
  std::vector<WaitRow> waits;
  std::vector<TaskRow> tasks;
  std::vector<SampleRow> samples;
  std::vector<SampleTail> sample_tails;
  CollectiveTable collectives;
  std::vector<LineRow> lines;  // those with most time first; none where stacks were not looked at
  std::vector<MemoryRow> memory;
  std::vector<MemorySeries> memory_series;
  std::vector<SyncPointRow> sync_points;
  std::vector<CallSiteRow> call_sites;
  uint64_t torn_stacks = 0;    // that were looked at, but changed meanwhile
  std::vector<OutsideRow> outside;  // sums to what the breakdown has in no operation and no phase
  uint64_t beside_ticks = 0;        // two or more threads were busy, each in an operation of its own
  uint64_t threads_in_operations = 0;  // threads that had any
  std::vector<CudaCallRow> cuda_calls;
  std::vector<DeviceRow> devices;
  std::vector<DeviceOperationRow> device_operations;
  std::vector<DeviceWorkRow> device_work;
  std::vector<IdleRow> idle;  // of a process with devices
  // Ticks on the host by name: waiting for the device, CUPTI's and the driver's own work, what was not recorded.
  std::map<std::string, uint64_t> cupti_work, gaps;
  std::vector<StreamSummary> streams;
  std::optional<ProgressSummary> progress;
  std::optional<Overhead> correction;  // only with costs
  std::optional<DetailResult> detail;  // only with borders
};

}  // namespace rlscope
