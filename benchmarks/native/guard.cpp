// What `make guard` counts the instructions of: `guard sweep FILE` analyzes a process file, `guard detail FILE` does so
// with bins, `guard idle FILE` sweeps it as one that shares its device, `guard record FILE DIRECTORY` records the calls in
// it anew, `guard between` meets them between two windows, `guard compiler` prints what compiled this program.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "device_idle.h"
#include "requests.h"
#include "session.h"
#include "sweep.h"
#include "trace_reader.h"

using namespace rlscope;

namespace {

constexpr size_t kWindowBytes = 256 << 10;
constexpr int kCallsBetween = 100'000;  // as guard.py knows
constexpr uint64_t kBins = 2000;  // with 300,000 events each holds as many as on the page of a run of 1e7 events

struct Call {
  uint64_t ticks;
  uint32_t id;  // 0: an end
};

std::vector<Call> read_calls(TraceFile& file) {
  std::vector<Call> calls;
  StreamReader reader(file, file.streams().at(0), kWindowBytes);
  while (reader.next()) {
    if (reader.is_begin()) calls.push_back({reader.ticks(), reader.id()});
    if (reader.type() == RecordType::kEnd) calls.push_back({reader.ticks(), 0});
  }
  return calls;
}

}  // namespace

// callgrind counts only what happens inside these. Their names are what it is told.
extern "C" __attribute__((noinline)) void measured_sweep(const char* path) {
  TraceFile file(path, false);
  sweep(file, SweepOptions());
}

extern "C" __attribute__((noinline)) void measured_detail(const char* path) {
  TraceFile file(path, false);
  const FileHeader& header = file.header();
  std::vector<uint64_t> borders;
  for (uint64_t bin = 1; bin <= kBins; bin++) {
    borders.push_back(header.start_ticks + (header.stop_ticks - header.start_ticks) * bin / kBins);
  }
  SweepOptions options;
  options.borders = &borders;
  sweep(file, options);
}

extern "C" __attribute__((noinline)) void measured_idle(const char* path) {
  FileHeader header = TraceFile::header_of(path);
  UnionInput input{path, header.start_ticks, header.stop_ticks, {}, {{0, 0}}};
  device_idle({{input, input.start_ticks, input.end_ticks, {}}}, {{input.start_ticks, input.end_ticks}}, false);
}

extern "C" __attribute__((noinline)) void measured_record(const std::vector<Call>& calls,
                                                          const std::vector<CodedId>& ids) {
  for (const Call& call : calls) {
    g_fixed_tsc = call.ticks << kTscShift;
    StreamWriter* writer = Session::writer();
    if (call.id) {
      writer->begin(ids[call.id]);
    } else {
      writer->end();
    }
  }
}

// Returns how many of the calls would be recorded, so that asking is not left out.
extern "C" __attribute__((noinline)) int measured_between(int calls) {
  int recorded = 0;
  for (int call = 0; call < calls; call++) recorded += Session::recording_writer() != nullptr;
  return recorded;
}

int main(int count, char** arguments) {
  std::string what = count > 1 ? arguments[1] : "";
  if (what == "compiler") {
#ifdef __clang__
    std::printf("clang %s\n", __clang_version__);
#else
    std::printf("gcc %s\n", __VERSION__);
#endif
  } else if (what == "sweep" && count == 3) {
    measured_sweep(arguments[2]);
  } else if (what == "detail" && count == 3) {
    measured_detail(arguments[2]);
  } else if (what == "idle" && count == 3) {
    measured_idle(arguments[2]);
  } else if (what == "record" && count == 4) {
    TraceFile file(arguments[2], false);
    std::vector<Call> calls = read_calls(file);
    std::vector<CodedId> ids(1);
    g_fixed_tsc = file.header().start_ticks << kTscShift;
    if (Session::start(arguments[3]) != 0) return 1;
    for (size_t id = 1; id < file.names().size(); id++) {
      const Name& name = file.names()[id];
      ids.push_back(Session::intern(name.kind, name.category, name.text));
    }
    measured_record(calls, ids);
    Session::stop(EndReason::kStopped);
  } else if (what == "between" && count == 2) {
    int fd = Requests::make_page();
    struct stat status{};
    if (fd < 0 || fstat(fd, &status) != 0) return 1;
    if (Requests::map("/proc/self/fd/" + std::to_string(fd), status.st_ino, [] {}) != 0) return 1;
    Session::arm();
    Session::writer();
    return measured_between(kCallsBetween);
  } else {
    std::fprintf(stderr,
                 "expected: guard sweep FILE, guard detail FILE, guard idle FILE, guard record FILE DIRECTORY, guard "
                 "between or guard compiler\n");
    return 2;
  }
  return 0;
}
