// What the recorder knows of a thread that did not run: how long it was blocked, and whether others computed meanwhile.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "event_records.h"
#include "recording.h"
#include "session.h"
#include "trace_reader.h"

namespace rlscope {
namespace {

constexpr int kGap_ms = 100;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Uses this much CPU time, however long that takes.
void compute_ms(int ms) {
  uint64_t end = monotonic_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<uint64_t>(ms) * 1'000'000;
  while (monotonic_ns(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

// Three threads for each CPU that want it too.
class Others {
 public:
  Others() {
    for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); i++) {
      threads_.emplace_back([this] { while (!is_over_) continue; });
    }
  }
  ~Others() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

CodedId call_of(Category category, const char* name) { return Session::intern(NameKind::kBoundary, category, name); }

// The record of a blocked gap, with the gap itself. The machine is shared: a gap may be longer than what is done in it.
struct Blocked {
  uint64_t ended;  // ticks
  double gap_ms, blocked_ms, queued_ms, helped_ms;
};

class BlockedTimes : public Recording {
 protected:
  // In the order of the file. A record of a blocked gap comes with the record that ends it, at the same time.
  std::vector<Blocked> stop_and_read(uint32_t stream = 0) {
    Session::stop(EndReason::kStopped);
    return blocked_in(path_, stream);
  }
  static std::vector<Blocked> blocked_in(const std::string& path, uint32_t stream) {
    std::vector<Blocked> found;
    ClockPair first = TraceFile(path, false).header().first_pair, last = TraceFile(path, false).header().last_pair;
    double ms_per_tick = static_cast<double>(last.monotonic_ns - first.monotonic_ns) / 1e6 /
                         static_cast<double>(last.ticks - first.ticks);
    std::vector<EventRecord> records = read_event_records(path);
    for (size_t i = 0; i < records.size(); i++) {
      const EventRecord& record = records[i];
      if (record.stream != stream) continue;
      if (record.kind == kOther && record.tag_or_name == kAbsent) {
        bool is_last = i + 1 == records.size() || records[i + 1].stream != stream;
        EXPECT_TRUE(is_last || records[i + 1].ticks == record.ticks);
        EXPECT_LE(record.values[0] - 1 + record.values[1] - 1, record.delta);
        EXPECT_LE(record.values[2] - 1, record.values[0] - 1 + record.values[1] - 1);
        auto ms = [&](uint64_t value) { return static_cast<double>(value - 1) * ms_per_tick; };
        found.push_back({record.ticks, static_cast<double>(record.delta) * ms_per_tick, ms(record.values[0]),
                         ms(record.values[1]), ms(record.values[2])});
      }
    }
    return found;
  }
};

// On a busy machine there may be others, of the moments in which this process did not have the CPU that it asked for.
Blocked longest(const std::vector<Blocked>& found) {
  EXPECT_FALSE(found.empty());
  auto is_shorter = [](const Blocked& a, const Blocked& b) { return a.gap_ms < b.gap_ms; };
  return found.empty() ? Blocked{} : *std::max_element(found.begin(), found.end(), is_shorter);
}

template <class Work>
void call(const CodedId& id, Work work) {
  Session::writer()->begin(id);
  work();
  Session::writer()->end();
}

TEST_F(BlockedTimes, ACallThatSleepsWasBlockedForItsLength) {
  call(call_of(Category::kBackend, "sleeps"), [] { sleep_ms(kGap_ms); });
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.blocked_ms, 0.7 * kGap_ms);
  EXPECT_LT(gap.helped_ms, 0.2 * gap.blocked_ms);
}

TEST_F(BlockedTimes, TimeBetweenCallsIsMeasuredToo) {
  CodedId id = call_of(Category::kBackend, "call");
  call(id, [] {});
  sleep_ms(kGap_ms);
  call(id, [] {});
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.blocked_ms, 0.7 * kGap_ms);
}

TEST_F(BlockedTimes, ACallThatComputesWasNotBlockedAlsoWhereItHasNoCpu) {
  std::optional<Others> others(std::in_place);
  CodedId id = call_of(Category::kBackend, "computes");
  call(id, [] {});  // making threads may have blocked
  uint64_t made = Session::writer()->last_ticks();
  for (int i = 0; i < 10; i++) call(id, [] { compute_ms(20); });
  uint64_t computed = Session::writer()->last_ticks();
  others.reset();
  double queued_ms = 0;
  for (const Blocked& gap : stop_and_read()) {
    if (gap.ended <= made || gap.ended > computed) continue;
    EXPECT_EQ(gap.blocked_ms, 0);
    queued_ms += gap.queued_ms;
  }
  EXPECT_GT(queued_ms, 0);
}

// Asks for no clock of the scheduler's.
void count_to(uint64_t end) {
  for (volatile uint64_t i = 0; i < end; i = i + 1) continue;
}

// A million steps take 0.5 to 2 ms, so that most of these calls are readings.
TEST_F(BlockedTimes, AThreadLosesItsCpuInReadingsNoMoreOftenThanElsewhere) {
  Others others;
  CodedId id = call_of(Category::kBackend, "call");
  uint64_t in_calls_ns = 0, start_ns = monotonic_ns();
  for (int i = 0; i < 150; i++) {
    count_to(1'000'000);
    uint64_t called_ns = monotonic_ns();
    call(id, [] {});
    in_calls_ns += monotonic_ns() - called_ns;
  }
  EXPECT_LT(static_cast<double>(in_calls_ns), 0.1 * static_cast<double>(monotonic_ns() - start_ns));
}

TEST_F(BlockedTimes, BesideOthersTheCpuTimeIsThatOfTheThread) {
  Others others;
  CodedId id = call_of(Category::kBackend, "call");
  uint64_t start_ns = monotonic_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 150; i++) {
    call(id, [] { count_to(500'000); });
    count_to(500'000);
  }
  auto ran_ns = static_cast<double>(monotonic_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
  uint64_t until = Session::writer()->last_ticks();
  Session::stop(EndReason::kStopped);
  double found_ns = 0;
  for (const EventRecord& record : read_event_records(path_)) {
    bool is_cpu_time = record.stream == 0 && record.kind == kOther && record.tag_or_name == kCpuTime;
    if (is_cpu_time && record.ticks <= until) found_ns += static_cast<double>(record.values[0] - 1);
  }
  EXPECT_NEAR(found_ns, ran_ns, 0.05 * ran_ns);
}

TEST_F(BlockedTimes, RunningIsNeverTakenForWaiting) {
  CodedId id = call_of(Category::kBackend, "partly");
  for (int i = 0; i < 20; i++) {
    call(id, [] {
      compute_ms(10);
      sleep_ms(10);
    });
  }
  // Of each gap 10 ms were computing, however long others kept it from the CPU.
  std::vector<Blocked> found = stop_and_read();
  ASSERT_GE(found.size(), 15u);
  for (const Blocked& gap : found) EXPECT_LT(gap.blocked_ms, gap.gap_ms - 9.9);
}

TEST_F(BlockedTimes, APoolThatComputesMeanwhileHelps) {
  std::atomic<int> state{0};
  std::thread pool([&] {
    while (state == 0) sleep_ms(1);
    compute_ms(kGap_ms);
    state = 2;
  });
  call(call_of(Category::kBackend, "computes in a pool"), [&] {
    state = 1;
    pool.join();
  });
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.helped_ms, 0.8 * kGap_ms);
}

TEST_F(BlockedTimes, ARecordedThreadThatComputesMeanwhileIsNoHelp) {
  CodedId id = call_of(Category::kBackend, "sleeps");
  std::atomic<bool> has_begun{false};
  std::thread spinner([&] {
    Session::writer()->begin(id);
    has_begun = true;
    compute_ms(2 * kGap_ms);
    Session::writer()->end();
  });
  while (!has_begun) sleep_ms(1);
  call(id, [] { sleep_ms(kGap_ms); });
  spinner.join();
  Blocked gap = longest(stop_and_read());
  EXPECT_LT(gap.helped_ms, 0.2 * gap.blocked_ms);
}

// A pool's thread that calls Python back is recorded, and computes for the one that called the pool nevertheless.
TEST_F(BlockedTimes, ARecordedThreadOfNativeCodeHelps) {
  CodedId callback = call_of(Category::kPython, "called back");
  std::atomic<int> state{0};
  std::thread pool([&] {
    Session::writer()->serves_native_code();
    Session::writer()->begin(callback);
    Session::writer()->end();
    while (state == 0) sleep_ms(1);
    compute_ms(kGap_ms);
    state = 2;
  });
  call(call_of(Category::kBackend, "computes in a pool"), [&] {
    state = 1;
    pool.join();
  });
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.helped_ms, 0.8 * kGap_ms);
}

TEST_F(BlockedTimes, AThreadThatHasEndedIsNoHelp) {
  CodedId id = call_of(Category::kBackend, "sleeps");
  call(id, [] {});
  call(id, [&] { std::thread([&] { call(id, [] { compute_ms(kGap_ms); }); }).join(); });
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.blocked_ms, 0.5 * kGap_ms);
  EXPECT_LT(gap.helped_ms, 0.2 * gap.blocked_ms);
}

TEST_F(BlockedTimes, InAKnownWaitNothingIsBlocked) {
  call(call_of(Category::kWait, "waits"), [] { sleep_ms(kGap_ms); });
  call(call_of(Category::kCudaWait, "waits for the device"), [] { sleep_ms(kGap_ms); });
  for (const Blocked& gap : stop_and_read()) EXPECT_EQ(gap.blocked_ms, 0);  // others had the cores where there is any
}

TEST_F(BlockedTimes, AThreadThatIsBlockedWhenTheRecordingEnds) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_blocked = false, is_over = false;
  std::thread helper([&] {
    Session::writer()->begin(call_of(Category::kBackend, "never returns"));
    std::unique_lock<std::mutex> lock(mutex);
    is_blocked = true;
    changed.notify_all();
    changed.wait(lock, [&] { return is_over; });
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return is_blocked; });
  }
  sleep_ms(kGap_ms);
  Blocked gap = longest(stop_and_read(1));
  {
    std::lock_guard<std::mutex> lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  helper.join();
  EXPECT_GT(gap.blocked_ms, 0.7 * kGap_ms);
}

TEST_F(BlockedTimes, AmplifiedRecordsHaveThemToo) {
  Session::amplify(8);
  call(call_of(Category::kBackend, "sleeps"), [] { sleep_ms(kGap_ms); });
  Session::amplify(1);
  Blocked gap = longest(stop_and_read());
  EXPECT_GT(gap.blocked_ms, 0.7 * kGap_ms);
}

TEST_F(BlockedTimes, AForkedChildMeasuresAnew) {
  CodedId id = call_of(Category::kBackend, "sleeps");
  compute_ms(kGap_ms);
  call(id, [] {});
  pid_t pid = fork();
  if (pid == 0) {
    Session::start(directory_);
    call(id, [] { sleep_ms(kGap_ms); });
    std::thread([&] { call(id, [] { compute_ms(1); }); }).join();
    Session::stop(EndReason::kExit);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
  std::vector<Blocked> found = blocked_in(directory_ + "/" + std::to_string(pid) + "-0.rlscope", 0);
  ASSERT_FALSE(found.empty());
  EXPECT_GT(found[0].blocked_ms, 0.7 * kGap_ms);
  EXPECT_LT(found[0].helped_ms, 0.2 * found[0].blocked_ms);
}

}  // namespace
}  // namespace rlscope
