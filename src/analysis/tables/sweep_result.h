// What the sweep finds in a process: the rows and sums that Python gets.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detail.h"
#include "swept_rows.h"
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

// Where time in no operation lies. The training loop goes from the first `training_loop` to its last end; without one,
// from the first begin of an operation that is no reset to the last end of one; a report of progress counts as either.
enum class LoopPart : uint8_t { kBefore, kIn, kAfter };
constexpr const char* kLoopPartLabels[] = {"before", "in", "after"};
inline const char* part_label(LoopPart part) { return kLoopPartLabels[static_cast<size_t>(part)]; }

// What is added up where bins are asked for. Bins and iterations refer to series and functions by their places.
struct DetailResult {
  std::vector<SweptFunction> functions;
  std::vector<SweptSeries> series;
  std::vector<BinEntry> bins;  // in order of bins
  std::vector<Iteration> iterations;
  std::vector<IterationEntry> iteration_entries;  // in order of iterations
  std::vector<SweptInstances> instances;
  std::vector<PhaseStart> phases;  // by the places of their names
  std::vector<std::string_view> phase_names;
  std::vector<SweptSampleSpan> samples;  // in order of their begins; of more than kMostSamples the longest
  std::vector<SweptFrame> frames;
};

// From the first mark of the training loop to the last: see LoopPart.
struct LoopSpan {
  uint64_t start_ticks;
  uint64_t end_ticks;
};

// Beside the lists that Swept declares: these.
struct SweepResult : SweptRows {
  uint64_t start_ticks = 0;
  uint64_t end_ticks = 0;
  uint64_t last_record_ticks = 0;  // of any thread or queue
  std::optional<LoopSpan> loop;  // none without a mark
  std::shared_ptr<const Labels> labels;  // what the rows refer to
  uint64_t transitions_in_loop = 0;              // of those outside evaluation
  std::map<std::string, uint64_t> events;        // by kind: operation, phase, a boundary's category, or device work
  std::map<std::string, uint64_t> crossings;     // by boundary name, of a wait without the stream that it is for
  SweptCollectives collectives;
  uint64_t torn_stacks = 0;  // that were looked at, but changed meanwhile
  uint64_t beside_ticks = 0;           // two or more threads were busy, each in an operation of its own
  uint64_t threads_in_operations = 0;  // threads that had any
  // Ticks on the host by name: waiting for the device, CUPTI's and the driver's own work, what was not recorded.
  std::map<std::string, uint64_t> cupti_work, gaps;
  std::optional<SweptCorrection> correction;  // only with costs
  std::optional<DetailResult> detail;  // only with borders
};

}  // namespace rlscope
