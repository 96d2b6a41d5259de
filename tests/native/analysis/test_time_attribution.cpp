// Where time goes as it passes: to owners, by what devices do, in shares, and to those who ask for more.
#include <gtest/gtest.h>

#include <tuple>

#include "time_attribution.h"
#include "trace_bytes.h"

namespace rlscope {
namespace {

const std::string kNames = name_entry(1, NameKind::kOperation, Category::kPython, "inference") +
                           name_entry(2, NameKind::kDeviceWork, Category::kPython, "gemm") +
                           name_entry(3, NameKind::kOperation, Category::kPython, "step") +
                           name_entry(4, NameKind::kBoundary, Category::kWait, "read") + queue_entry(5, 0) +
                           queue_entry(6, 1) + launch_site_entry(1, 1, Stage::kInference);

std::string kernels(uint32_t queue, const std::string& records) {
  return chunk({ChunkKind::kDevice, queue, 0, 0, true, {}}, records);
}

// A process that lives from 0 to 1000 with a main thread and no records but these of devices.
struct Process {
  explicit Process(const SweepOptions& options = {}, const std::string& device_chunks = "")
      : file(file_header(0, 1000) + catalog(kNames) + device_chunks),
        trace(file.path(), false),
        limit(trace),
        tables(options.borders != nullptr, true),
        main(0, true),
        owner(main),
        phases(tables),
        time(options, 0, 1000, limit, tables, owner, devices, phases),
        names(trace, tables, time.correction() ? &*time.correction() : nullptr),
        devices(trace, 0, 1000, 0, options.gpu_attribution == GpuAttribution::kLaunch) {
    step = tables.inner_scope(0, tables.name(3));
    time.set_rare_cell();
  }
  // The main thread is there from now on.
  void enter(uint64_t boundary, Scope scope) {
    main.boundary = boundary;
    main.scope = scope;
    time.set_cell(owner.thread(), owner.scope(), tables);
  }
  bool step_devices() {
    time.advance_slowly(devices.next_ticks());
    size_t cells = devices.cells();
    bool changes = devices.step(time.now(), names);
    if (changes) time.devices_changed(cells);
    time.set_cell(owner.thread(), owner.scope(), tables);
    return changes;
  }
  uint64_t ticks(Scope scope, size_t cell) { return tables.row(scope).ticks[cell]; }

  TemporaryFile file;
  TraceFile trace;
  RowLimit limit;
  SweepTables tables;
  Thread main;
  Owner owner;
  Phases phases;
  TimeAttribution time;
  NameCatalog names;
  ProcessDevices devices;
  Scope step;
};

TEST(ProcessDevices, SayWhichCellsCountAndWhoLaunched) {
  // On device 0 from 10 to 40, on device 1 from 30 to 60.
  Process process({}, kernels(5, work_record(kKernel, 10, 30, 2, 1)) + kernels(6, work_record(kKernel, 30, 30, 2, 1)));
  ProcessDevices& devices = process.devices;
  using State = std::tuple<uint64_t, bool, size_t, uint64_t>;  // ticks, whether cells change, cells, which devices work
  std::vector<State> found;
  EXPECT_FALSE(devices.work());
  while (devices.next_ticks() != kNever) {
    uint64_t now = devices.next_ticks();
    bool changes = devices.step(now, process.names);
    found.emplace_back(now, changes, devices.cells(), devices.working());
    EXPECT_EQ(devices.are_launchs(), devices.work());
  }
  EXPECT_EQ(found, (std::vector<State>{{10, true, kDeviceComputes, 1}, {30, false, kDeviceComputes, 3},
                                       {40, false, kDeviceComputes, 2}, {60, true, 0, 0}}));
  EXPECT_EQ(devices.worked_ticks(100), 50u);
  EXPECT_EQ(process.tables.operation_of(devices.launch_scope()), "inference");
  EXPECT_TRUE(devices.are_idle(true));
  EXPECT_FALSE(devices.are_idle(false));
}

TEST(ProcessDevices, BelongToWhoIsThereIfAsked) {
  SweepOptions options;
  options.gpu_attribution = GpuAttribution::kCoincident;
  Process process(options, kernels(5, work_record(kKernel, 10, 30, 2, 1)));
  process.devices.step(10, process.names);
  EXPECT_TRUE(process.devices.work());
  EXPECT_FALSE(process.devices.are_launchs());
  EXPECT_FALSE(process.devices.are_idle(false));  // there is no other device
}

TEST(TimeAttribution, GivesTimeToTheOwnersRow) {
  Process process;
  process.time.advance(10);
  process.enter(kBackend, process.step);
  process.time.advance(15);
  process.enter(kPython, process.step);
  process.time.advance(2000);  // no further than to the end
  EXPECT_EQ(process.time.now(), 1000u);
  EXPECT_EQ(process.ticks(0, kPython), 10u);
  EXPECT_EQ(process.ticks(process.step, kBackend), 5u);
  EXPECT_EQ(process.ticks(process.step, kPython), 985u);
}

TEST(TimeAttribution, GivesTheTimeOfAWaitToTheLaunchWhileADeviceWorks) {
  Process process({}, kernels(5, work_record(kKernel, 10, 30, 2, 1)));
  process.enter(kCudaWait, process.step);
  EXPECT_TRUE(process.step_devices());
  process.time.advance(25);
  process.enter(kPython, process.step);
  EXPECT_TRUE(process.step_devices());
  process.time.advance(50);
  Scope inference = process.devices.launch_scope();
  EXPECT_EQ(process.ticks(process.step, kCudaWait), 10u);
  EXPECT_EQ(process.ticks(inference, kDeviceComputes + kCudaWait), 15u);
  EXPECT_EQ(process.ticks(process.step, kDeviceComputes + kPython), 15u);
  EXPECT_EQ(process.ticks(process.step, kPython), 10u);
}

TEST(TimeAttribution, SharesTimeWithAThreadThatRunsForAPartOfAGap) {
  Process process;
  Thread helper(1, false);
  helper.slot = 1;
  helper.boundaries = 1;
  helper.gap = {0, 10, {4, 3}, kPython};
  helper.boundary = kWait;
  process.owner.set_threads({&process.main, &helper});
  process.owner.begin_gap(helper);
  process.time.sharing_changed();
  EXPECT_FALSE(process.time.is_usual<false>());
  uint32_t number = process.tables.name(4).number;
  process.enter(kWait | uint64_t{number} << kWaitShift, 0);
  process.time.count_wait(number);
  process.time.advance(process.main, 10, false, 0);
  process.time.wait_changed();
  EXPECT_EQ(process.ticks(0, kPython), 3u);
  EXPECT_EQ(process.ticks(0, kNoCore), 3u);
  EXPECT_EQ(process.ticks(0, kWait), 4u);
  EXPECT_EQ(process.tables.wait(0, number).ticks, 4u);
  EXPECT_EQ(process.tables.wait(0, number).entries, 1u);
}

TEST(TimeAttribution, ChargesEachThreadsOwnView) {
  SweepOptions options;
  options.by_thread = true;
  Process process(options);
  process.enter(kBackend, process.step);
  process.time.advance(process.main, 7, false, 0);
  process.enter(kPython, process.step);
  process.time.advance(process.main, 10, false, 0);
  process.time.advance(12);
  process.time.charge_all();
  const Row& row = process.tables.thread_row(0, 0, process.step);
  EXPECT_EQ(row.ticks[kBackend], 7u);
  EXPECT_EQ(row.ticks[kPython], 5u);
}

TEST(TimeAttribution, ChargesOwnersForTheirRecords) {
  CostTable costs = {{"operation", {{kPartsPerTick, 2 * kPartsPerTick, 3 * kPartsPerTick}, {0, 0, 0}}}};
  SweepOptions options;
  options.costs = &costs;
  Process process(options);
  process.time.advance(process.main, 10, false, 3);
  process.enter(kPython, process.step);
  process.time.advance(process.main, 30, false, 0);
  const Correction::Sums& removed = process.time.correction()->removed();
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed.begin()->first.scope, process.step);
  EXPECT_EQ(removed.begin()->second, (OverheadParts{kPartsPerTick, 2 * kPartsPerTick, 3 * kPartsPerTick}));
}

TEST(TimeAttribution, GivesDetailByFunctionAndInBins) {
  std::vector<uint64_t> borders{8, 1000};
  SweepOptions options;
  options.borders = &borders;
  Process process(options);
  EXPECT_TRUE(process.time.is_usual<true>());
  uint64_t read = kWait | uint64_t{process.tables.name(4).number} << kWaitShift;
  process.enter(read, 0);
  process.time.count_call(process.main, 0, true);
  process.time.advance_slowly(10);
  process.enter(kPython, 0);
  process.time.advance_slowly(1000);
  Detail& detail = *process.time.detail();
  detail.finish(1000);
  uint64_t ticks = 0, calls = 0;
  for (const FunctionCell& cell : detail.cells()) {
    if (cell.place.function == read) ticks += cell.ticks, calls += cell.calls;
  }
  EXPECT_EQ(ticks, 10u);
  EXPECT_EQ(calls, 1u);
  using Entry = std::tuple<uint32_t, uint8_t, uint64_t>;  // bin, cell, ticks
  std::vector<Entry> bins;
  for (const BinEntry& entry : detail.bins()) bins.emplace_back(entry.bin, detail.series()[entry.series].second, entry.ticks);
  EXPECT_EQ(bins, (std::vector<Entry>{{0, kWait, 8}, {1, kWait, 2}, {1, kPython, 990}}));
}

TEST(TimeAttribution, TellsAWatchWhoseTheTimeIs) {
  class Watch : public OwnerWatch {
   public:
    void own(const BreakdownPlace& place, uint32_t wait, uint64_t ticks) override {
      seen.emplace_back(place.scope, place.cell, wait, ticks);
    }
    std::vector<std::tuple<Scope, uint8_t, uint32_t, uint64_t>> seen;
  };
  Watch watch;
  SweepOptions options;
  options.watch = &watch;
  Process process(options);
  process.time.advance(process.main, 4, false, 0);
  process.enter(kSimulator, process.step);
  process.time.advance(process.main, 9, false, 0);
  EXPECT_EQ(watch.seen, (decltype(watch.seen){{0, kPython, 0, 4}, {process.step, kSimulator, 0, 5}}));
}

}  // namespace
}  // namespace rlscope
