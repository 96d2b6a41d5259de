// The fuzz target: any bytes, read as a process file and swept, are a result whose numbers agree or a named damage.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "check_slices.h"
#include "device_idle.h"
#include "device_union.h"
#include "event_window.h"
#include "sweep.h"

// Of the AddressSanitizer; GCC ships no header for them.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* pointer);

namespace {

using rlscope::GpuAttribution;
using rlscope::SweepOptions;
using rlscope::SweepResult;
using rlscope::SweptDevice;
using rlscope::SweptDeviceOperation;
using rlscope::SweptDeviceWork;
using rlscope::SweptTime;
using rlscope::TraceDamage;
using rlscope::TraceFile;

// What reading a file may allocate at most: so much, and so many times the size of the file.
constexpr size_t kFixedBytes = 8 << 20;
constexpr size_t kBytesPerByte = 100;

// Longer times in parts of a tick are more than 64 bits hold: thousands of years, so they can only be damage.
constexpr uint64_t kLongestCorrected = 1ull << 55;

std::atomic<size_t> g_live{0};
std::atomic<size_t> g_peak{0};

void on_malloc(const volatile void*, size_t size) {
  size_t live = g_live += size;
  if (live > g_peak) g_peak = live;
}
void on_free(const volatile void* pointer) {
  if (pointer) g_live -= __sanitizer_get_allocated_size(pointer);
}

// The input as a file. One for all inputs, so that each costs a write and nothing else.
class InputFile {
 public:
  InputFile() : fd_(memfd_create("input", 0)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    check(fd_ >= 0, "memfd_create");
  }
  void write(const uint8_t* data, size_t size) {
    check(ftruncate(fd_, 0) == 0 && pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size), "writing the input");
  }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

struct Outcome {
  bool is_read = false;  // else damage was thrown
  uint64_t damage = 0;
  SweepResult result;
};

// Names in a result lie in its file, so what is compared of them later is only how many rows they make.
Outcome run(const std::string& path, bool recovers, const SweepOptions& options) {
  Outcome outcome;
  try {
    TraceFile file(path, recovers);
    outcome.result = rlscope::sweep(file, options);
    outcome.damage = file.damage_count();
    outcome.is_read = true;
    check(file.damage().size() <= outcome.damage, "no more notes than damage");
  } catch (const TraceDamage& damage) {
    check(std::string(damage.what()).find(path) != std::string::npos, "damage names the file");
  }
  return outcome;
}

bool is_same(const SweptTime& a, const SweptTime& b) { return a.fields() == b.fields(); }

bool is_same_device(const SweptDevice& a, const SweptDevice& b) {
  return a.device == b.device && a.busy_ticks == b.busy_ticks && a.kernel_ticks == b.kernel_ticks;
}

void check_same(const Outcome& a, const Outcome& b) {
  const auto& rows = a.result.breakdown;
  const auto& others = b.result.breakdown;
  check(std::equal(rows.begin(), rows.end(), others.begin(), others.end(), is_same), "the same breakdown");
  check(a.result.events == b.result.events && a.result.crossings == b.result.crossings, "the same counts");
  const auto& devices = a.result.devices;
  const auto& other_devices = b.result.devices;
  check(std::equal(devices.begin(), devices.end(), other_devices.begin(), other_devices.end(), is_same_device),
        "the same devices");
  check(a.result.device_work.size() == b.result.device_work.size(), "the same device work");
}

void check_waits_and_phases(const SweepResult& result) {
  uint64_t waited = 0;
  for (const SweptTime& row : result.breakdown) waited += row.category == rlscope::Category::kWait ? row.ticks : 0;
  uint64_t count = 0;
  for (const rlscope::SweptWait& row : result.waits) {
    waited -= row.ticks;
    count += row.entries;
  }
  check(waited == 0, "waits sum to the breakdown's");
  check(count >= result.events.at("wait"), "every wait is in a row, beside gaps in which a thread was blocked");
  for (const rlscope::SweptPhase& row : result.phases) {
    check(result.start_ticks <= row.start_ticks && row.start_ticks <= row.end_ticks && row.end_ticks <= result.end_ticks,
          "a phase lies in its process's life");
  }
}

void check_sums(const SweepResult& result) {
  uint64_t wall = result.end_ticks - result.start_ticks;
  check(result.end_ticks >= result.start_ticks, "a process ends after it starts");
  uint64_t sum = 0;
  for (const SweptTime& row : result.breakdown) sum += row.ticks;
  check(sum == wall, "the breakdown sums to the wall time");
  check_waits_and_phases(result);
  std::map<uint32_t, uint64_t> of_thread;
  for (const auto& row : result.threads) of_thread[row.thread] += row.ticks;
  for (const auto& [thread, ticks] : of_thread) check(ticks <= wall, "no thread is longer than its process");
  for (const SweptDevice& device : result.devices) {
    uint64_t busy = 0;
    uint64_t kernels = 0;
    for (const SweptDeviceOperation& row : result.device_operations) {
      if (row.device != device.device) continue;
      busy += row.busy_ticks;
      kernels += row.kernels;
    }
    uint64_t works = 0;
    for (const SweptDeviceWork& row : result.device_work) works += row.device == device.device ? row.pieces : 0;
    check(busy == device.busy_ticks && busy <= wall, "a device's time is that of its launches");
    check(kernels == device.kernel_count, "a device's kernels are those of its launches");
    check(works == device.kernel_count + device.copy_count + device.memset_count, "all work has a name");
  }
}

// Correction changes none of what was recorded, and removes no more time than there is.
void check_corrected(const Outcome& plain, const Outcome& corrected) {
  check(corrected.is_read == plain.is_read, "what can be swept can be corrected");
  if (!plain.is_read) return;
  check_same(plain, corrected);
  uint64_t wall = corrected.result.end_ticks - corrected.result.start_ticks;
  if (wall >= kLongestCorrected) return;
  using rlscope::PartBounds;
  for (auto bound : {&PartBounds::least, &PartBounds::expected, &PartBounds::most}) {
    uint64_t removed = 0;
    uint64_t turned = 0;
    for (const auto& row : corrected.result.correction->removed) removed += row.parts.*bound;
    for (const auto& row : corrected.result.correction->turned) turned += row.parts.*bound;
    check(turned <= removed && removed <= wall * rlscope::kPartsPerTick, "only time that there is is removed");
  }
}

using Place = std::tuple<std::string_view, std::string_view, rlscope::Category, rlscope::Resource>;

// Detail changes none of what was found, and its parts sum to it.
void check_detailed(const Outcome& plain, const Outcome& detailed, const std::vector<uint64_t>& borders) {
  check(detailed.is_read == plain.is_read, "what can be swept can be swept in detail");
  if (!plain.is_read) return;
  check_same(plain, detailed);
  const rlscope::DetailResult& detail = *detailed.result.detail;
  std::map<Place, uint64_t> left;
  for (const SweptTime& row : detailed.result.breakdown) {
    left[{row.stage, row.operation, rlscope::folded_category(static_cast<uint8_t>(row.category)), row.resource}] += row.ticks;
  }
  std::map<Place, uint64_t> in_bins = left;
  uint64_t calls = 0;
  for (const rlscope::SweptFunction& row : detail.functions) {
    left[{row.stage, row.operation, row.category, row.resource}] -= row.ticks;
    calls += row.calls;
  }
  for (const auto& [place, ticks] : left) check(ticks == 0, "functions sum to the breakdown");
  uint64_t crossings = 0;
  for (const auto& [name, count] : detailed.result.crossings) crossings += count;
  check(calls == crossings, "every call is some function's");
  std::map<uint32_t, uint64_t> of_bin;
  for (const rlscope::BinEntry& entry : detail.bins) {
    const rlscope::SweptSeries& row = detail.series[entry.series];
    in_bins[{row.stage, row.operation, row.category, row.resource}] -= entry.ticks;
    of_bin[entry.bin] += entry.ticks;
  }
  for (const auto& [place, ticks] : in_bins) check(ticks == 0, "bins up to the end of the process sum to the breakdown");
  uint64_t start = detailed.result.start_ticks;
  for (size_t bin = 0; bin < borders.size(); bin++) {
    uint64_t end = std::clamp(borders[bin], start, detailed.result.end_ticks);
    check(of_bin[static_cast<uint32_t>(bin)] == end - start, "a bin is full");
    start = end;
  }
  std::map<uint32_t, uint64_t> of_iteration;
  for (const rlscope::IterationEntry& entry : detail.iteration_entries) of_iteration[entry.iteration] += entry.ticks;
  for (const auto& [number, ticks] : of_iteration) {
    check(ticks == detail.iterations[number].end_ticks - detail.iterations[number].start_ticks, "an iteration is full");
  }
}

void check_window(const std::string& path, bool recovers, uint64_t start, uint64_t end) {
  TraceFile file(path, recovers);
  constexpr size_t kMost = 50;
  rlscope::EventWindow window = rlscope::event_window(file, start, end, kMost);
  check(window.end_ticks <= end, "a window ends no later than asked");
  for (const rlscope::ThreadEvents& events : window.threads) {
    for (size_t i = 0; i < events.starts.size(); i++) {
      check(start <= events.starts[i] && events.starts[i] <= events.ends[i] && events.ends[i] <= window.end_ticks,
            "events lie in their window");
      check(i == 0 || events.starts[i - 1] <= events.starts[i], "events are in order of start");
      check(events.names[i] < file.names().size(), "events have names");
    }
  }
}

// A union over one process is what the sweep found.
void check_union(const std::string& path, bool recovers, const SweepResult& result) {
  rlscope::UnionInput input{path, result.start_ticks, result.end_ticks, {}, {}};
  for (const SweptDevice& device : result.devices) input.places.emplace(device.device, input.places.size());
  std::vector<uint64_t> busy = rlscope::busy_union({input}, input.places.size(), rlscope::WorkKind::kAny, recovers);
  constexpr size_t kBins = 5;
  uint64_t width = (result.end_ticks - result.start_ticks) / kBins + 1;
  auto bins = rlscope::busy_union_in_bins({input}, input.places.size(), {result.start_ticks, width, kBins},
                                         rlscope::WorkKind::kAny, recovers);
  for (const SweptDevice& device : result.devices) {
    size_t place = input.places[device.device];
    check(busy[place] == device.busy_ticks, "the union over one process is the process's");
    uint64_t in_bins = 0;
    for (uint64_t time : bins[place]) in_bins += time;
    check(in_bins == busy[place], "bins over the process's life hold all of it");
  }
}

// What a process does while a device of its own does nothing is the same whether it is swept once or again.
void check_idle(const std::string& path, bool recovers, const SweepResult& result) {
  auto [start, end] = result.loop ? *result.loop : rlscope::LoopSpan{result.start_ticks, result.end_ticks};
  rlscope::UnionInput input{path, result.start_ticks, result.end_ticks, {}, {}};
  for (const SweptDevice& device : result.devices) {
    if (device.device >= 64) return;  // told apart no more
    input.places.emplace(device.device, input.places.size());
  }
  using Doing = std::tuple<size_t, std::string, std::string, rlscope::Category, bool>;  // names of waits lie in the file
  auto doing = [](size_t place, const rlscope::SweptIdle& row) {
    return Doing(place, row.stage, row.operation, row.category, row.is_evaluation);
  };
  std::map<Doing, uint64_t> left;
  for (const rlscope::SweptProcessIdle& row : result.idle) {
    for (const auto& [device, place] : input.places) {
      if (row.working >> device & 1) continue;
      left[doing(place, row.idle)] += row.idle.time;
    }
  }
  rlscope::IdleUser user{input, start, end, {{start, start + (end - start) / 2}}};
  std::vector<rlscope::IdleSpan> spans(input.places.size(), {start, end});
  rlscope::IdleOfPlaces found = rlscope::device_idle({user}, spans, recovers);
  for (const rlscope::SweptPlaceIdle& row : found.rows) left[doing(row.place, row.idle)] -= row.idle.time;
  for (const auto& [doing, ticks] : left) check(ticks == 0, "idle time of own devices is the same by both ways");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static InputFile input;
  static const bool has_hooks = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
  check(has_hooks, "allocations are counted");
  input.write(data, size);
  uint64_t limit_ticks = size % 2 ? 1000 : 0;
  GpuAttribution attribution = size % 4 < 2 ? GpuAttribution::kLaunch : GpuAttribution::kCoincident;
  static const rlscope::CostTable costs = {{"operation", {{10, 300, 20000}, {0, 256, 5000}}},
                                           {"boundary", {{1, 2, 3}, {100, 1000, 1ull << 40}}},
                                           {"cuda", {{0, 0, 0}, {256, 256, 256}}}};
  std::optional<Outcome> whole;  // without recovering
  for (bool recovers : {false, true}) {
    std::optional<Outcome> plain;
    for (bool by_thread : {false, true}) {
      size_t before = g_live;
      g_peak = before;
      Outcome outcome = run(input.path(), recovers, {limit_ticks, by_thread, attribution});
      check(g_peak - before <= kFixedBytes + kBytesPerByte * size, "a small multiple of the file's size is allocated");
      if (outcome.is_read) check_sums(outcome.result);
      if (outcome.is_read && !by_thread) check_union(input.path(), recovers, outcome.result);
      if (outcome.is_read && !by_thread) check_idle(input.path(), recovers, outcome.result);
      if (!plain) plain = std::move(outcome);
      else if (outcome.is_read && plain->is_read) check_same(*plain, outcome);
    }
    size_t before = g_live;
    g_peak = before;
    Outcome corrected = run(input.path(), recovers, {limit_ticks, false, attribution, &costs});
    check(g_peak - before <= kFixedBytes + kBytesPerByte * size, "correction allocates no more than that");
    check_corrected(*plain, corrected);
    std::vector<uint64_t> borders{10, 10, 500, 1000000};
    if (plain->is_read) borders.push_back(plain->result.end_ticks);
    std::sort(borders.begin(), borders.end());
    before = g_live;
    g_peak = before;
    Outcome detailed = run(input.path(), recovers, {limit_ticks, false, attribution, size % 3 ? nullptr : &costs, &borders});
    check(g_peak - before <= kFixedBytes + 2 * kBytesPerByte * size, "detail allocates little more than that");
    check_detailed(*plain, detailed, borders);
    if (plain->is_read) {
      uint64_t start = plain->result.start_ticks;
      uint64_t length = plain->result.end_ticks - start;
      check_window(input.path(), recovers, start + length / 3, start + length / 2);
      check_slices(input.path(), recovers, start + length / 3, start + length / 2);
      before = g_live;
      g_peak = before;
      check_slices(input.path(), recovers, start, plain->result.end_ticks);
      check(g_peak - before <= kFixedBytes + kBytesPerByte * size, "slices allocate no more than that");
      SweepOptions options{limit_ticks, true, attribution};
      options.since_ticks = start + length / 2;
      Outcome window = run(input.path(), recovers, options);
      check(window.is_read, "what can be swept can be swept from its middle on");
      check_sums(window.result);
      check_union(input.path(), recovers, window.result);
    }
    if (!whole) whole = std::move(plain);
    else if (whole->is_read) check(plain->is_read && plain->damage == 0, "recovering finds no damage in a sound file");
    else if (plain->is_read) check(plain->damage > 0, "recovering notes the damage that stops others");
    if (recovers && whole->is_read) check_same(*whole, *plain);
  }
  return 0;
}
