// When the GPU layer records: with recordings, forks, other profilers and errors, and what it leaves behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "cuda_recording.h"

extern "C" int InitializeInjection();

namespace rlscope {
namespace {

using CudaLifecycle = CudaRecording;

// A later user of CUPTI finds it as if we had not been here.
void expect_nothing_left() {
  FakeState state = fake_cupti_state();
  EXPECT_FALSE(state.has_subscriber);
  EXPECT_EQ(state.callbacks_enabled, 0u);
  EXPECT_EQ(state.kinds_enabled, 0u);
  EXPECT_EQ(state.buffers_out, 0u);
  EXPECT_EQ(state.zeroed_buffers, 0);
  // The time is CUPTI's own again: of the realtime clock, by far the larger.
  if (state.time_ns) {
    EXPECT_NEAR(static_cast<double>(state.time_ns), static_cast<double>(monotonic_ns(CLOCK_REALTIME)), 1e10);
  }
}

size_t threads_of_process() {
  size_t threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name(entry.path() / "comm");
    std::string text;
    name >> text;
    threads += text == "rlscope-flush";
  }
  return threads;
}

TEST_F(CudaLifecycle, RecordsFromStartToStopAndAgain) {
  EXPECT_EQ(state(), "recording");
  EXPECT_EQ(threads_of_process(), 1u);
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1, "first");
  DeviceTrace first = stop_and_read();
  EXPECT_EQ(state(), "waiting");
  EXPECT_EQ(threads_of_process(), 0u);
  expect_nothing_left();
  call(kDriver, kLaunchKernel, 2);
  run_kernel(2, "unseen");

  start();
  EXPECT_EQ(state(), "recording");
  run_kernel(1, "late");  // of a launch in the first recording: its id means nothing here
  call(kDriver, kLaunchKernel, 3);
  run_kernel(3, "second");
  DeviceTrace second = stop_and_read();
  ASSERT_EQ(first.of(kKernel).size(), 1u);
  EXPECT_EQ(first.of(kKernel)[0].name, "first");
  ASSERT_EQ(second.of(kKernel).size(), 2u);
  EXPECT_EQ(second.of(kKernel)[0].launch_site.stream, kNoStream);
  EXPECT_EQ(second.of(kKernel)[1].name, "second");
  EXPECT_EQ(second.header.unresolved_launches, 1u);
}

TEST_F(CudaLifecycle, ACallAcrossAStopDoesNotEndInTheNextRecording) {
  DeviceTrace first = [&] {
    CudaCallScope open(kDriver, kLaunchKernel, 1);
    DeviceTrace trace = stop_and_read();
    start();
    return trace;
  }();
  call(kDriver, kLaunchKernel, 2);
  DeviceTrace second = stop_and_read();
  EXPECT_EQ(first.calls_named("cuLaunchKernel").size(), 1u);
  ASSERT_EQ(second.calls_named("cuLaunchKernel").size(), 1u);
  EXPECT_EQ(second.calls_named("cuLaunchKernel")[0].depth, 0u);
  EXPECT_EQ(second.header.misnested_operations, 0u);
}

TEST_F(CudaLifecycle, ACallAcrossAGapLeavesNoFrame) {
  std::thread([] {
    CudaCallScope open(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, 1);
    cuda::release("torch.profiler");
    fake_cupti_call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, 1, CUPTI_API_EXIT);  // unheard
    cuda::reattach();
    call(kDriver, kLaunchKernel, 2);
    call(kDriver, kLaunchKernel, 3);
    EXPECT_EQ(Session::writer()->depth(), 0u);
  }).join();
  DeviceTrace trace = stop_and_read();
  ASSERT_EQ(trace.calls.size(), 3u);
  for (const ReadCall& call : trace.calls) {
    EXPECT_EQ(call.depth, 0u);
    EXPECT_NE(call.end_ticks, 0u);
  }
}

TEST_F(CudaLifecycle, ItsThreadTakesNoSignal) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "status");
    std::string status(std::istreambuf_iterator<char>(file), {});
    if (status.find("rlscope-flush") == std::string::npos) continue;
    size_t blocked = status.find("SigBlk:\t");
    ASSERT_NE(blocked, std::string::npos);
    uint64_t mask = std::stoull(status.substr(blocked + 8), nullptr, 16);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF}) {
      EXPECT_TRUE(mask >> (signal - 1) & 1) << "signal " << signal;
    }
  }
}

TEST_F(CudaLifecycle, DisableEndsTheLayerAndNotTheRecording) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  cuda::disable();
  EXPECT_EQ(state(), "off");
  call(kDriver, kLaunchKernel, 2);
  expect_nothing_left();
  EXPECT_TRUE(Session::is_recording());
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 1u);
  start();
  EXPECT_EQ(state(), "off");
}

TEST_F(CudaLifecycle, AProcessWithoutCudaIsLeftAlone) {
  Session::stop(EndReason::kStopped);
  cuda::disable();
  call(kDriver, kLaunchKernel, 1);
  fake_driver_set_state(CUDA_ERROR_NOT_INITIALIZED);
  start();
  cuda::enable("");
  EXPECT_EQ(state(), "waiting");
  EXPECT_FALSE(fake_cupti_state().has_subscriber);
  EXPECT_EQ(threads_of_process(), 0u);
  cuda::release("torch.profiler");
  cuda::reattach();
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.property("\"cuda\""), "");
  EXPECT_TRUE(trace.of(kGap).empty()) << "nothing was missed";
}

TEST_F(CudaLifecycle, AttachesWhenTheDriverSaysThatItIsInitialized) {
  cuda::disable();
  fake_driver_set_state(CUDA_ERROR_NOT_INITIALIZED);
  cuda::enable("");
  EXPECT_EQ(InitializeInjection(), 1);
  EXPECT_EQ(state(), "recording");
  EXPECT_EQ(fake_cupti_state().kinds_enabled, 5u);
  fake_driver_set_state(CUDA_SUCCESS);
}

TEST_F(CudaLifecycle, AttachesWhenTheRecordingStartsAfterTheDriver) {
  Session::stop(EndReason::kStopped);
  setenv("RLSCOPE_TRACE", directory_.c_str(), 1);
  Session::arm();
  EXPECT_EQ(InitializeInjection(), 1);
  unsetenv("RLSCOPE_TRACE");
  EXPECT_FALSE(Session::is_recording()) << "Python says when";
  EXPECT_EQ(state(), "waiting");
  start();
  EXPECT_EQ(state(), "recording");
}

TEST_F(CudaLifecycle, AForkedChildForgetsIt) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  uint64_t flushes = fake_cupti_flushes();
  pid_t pid = fork();
  if (pid == 0) {
    bool is_off = cuda::status().state == std::string("off");
    call(kDriver, kLaunchKernel, 2);  // CUPTI would not call us here
    Session::stop(EndReason::kStopped);
    _exit(is_off && fake_cupti_flushes() == flushes ? 0 : 1);
  }
  int status;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(state(), "recording");
  EXPECT_EQ(stop_and_read().of(kKernel).size(), 1u);
}

TEST_F(CudaLifecycle, AnotherProfilerGetsCuptiAndTheGapIsWritten) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  uint64_t released = now_ticks();
  cuda::release("torch.profiler");
  EXPECT_EQ(state(), "released");
  expect_nothing_left();
  CUpti_SubscriberHandle other;
  EXPECT_EQ(cuptiSubscribe(&other, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr),
            CUPTI_SUCCESS);
  call(kDriver, kLaunchKernel, 2);
  run_kernel(2);
  cuptiUnsubscribe(other);
  cuda::reattach();
  uint64_t attached = now_ticks();
  EXPECT_EQ(state(), "recording");
  call(kDriver, kLaunchKernel, 3);
  run_kernel(3);
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 2u);
  ASSERT_EQ(trace.of(kGap).size(), 1u);
  ReadRecord gap = trace.of(kGap)[0];
  EXPECT_EQ(gap.name, "[held by torch.profiler]");
  EXPECT_GE(gap.start_ticks, released);
  EXPECT_LE(gap.end_ticks, attached);
  EXPECT_GT(gap.end_ticks, gap.start_ticks);
  EXPECT_EQ(trace.queues.at(gap.stream).device, kHost);
}

TEST_F(CudaLifecycle, AGapThatGoesOnEndsWithTheRecordingAndStartsWithTheNext) {
  cuda::release("torch.profiler");
  DeviceTrace first = stop_and_read();
  EXPECT_EQ(first.of(kGap).size(), 1u);
  start();
  EXPECT_EQ(state(), "released");
  EXPECT_FALSE(fake_cupti_state().has_subscriber);
  cuda::reattach();
  EXPECT_EQ(state(), "recording");
  DeviceTrace second = stop_and_read();
  ASSERT_EQ(second.of(kGap).size(), 1u);
  EXPECT_GE(second.of(kGap)[0].start_ticks, second.header.start_ticks);
}

TEST_F(CudaLifecycle, WaitsForAProfilerThatKeepsCuptiForAWhile) {
  cuda::release("torch.profiler");
  fake_cupti_hold(true);
  cuda::reattach();
  EXPECT_EQ(state(), "released");
  EXPECT_EQ(cuda::status().error, "");
  fake_cupti_hold(false);
  while (state() != "recording") std::this_thread::yield();
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kGap).size(), 1u);
  EXPECT_EQ(trace.of(kKernel).size(), 1u);
  EXPECT_EQ(threads_of_process(), 0u);
}

TEST_F(CudaLifecycle, TakesCuptiOutAtTheEndOfACallOfItsOwn) {
  stop_and_read();
  EXPECT_EQ(fake_cupti_finalized(), 0u);
  cuda::disable();
  EXPECT_EQ(fake_cupti_finalized(), 1u);
  EXPECT_TRUE(fake_cupti_was_finalized_at_exit());
  expect_nothing_left();
  call(kDriver, kLaunchKernel, 2);
  cuda::disable();
  EXPECT_EQ(fake_cupti_finalized(), 1u);

  cuda::enable("");
  start();
  call(kDriver, kLaunchKernel, 3);
  run_kernel(3);
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 1u);
  EXPECT_EQ(fake_cupti_finalized(), 1u);
}

TEST_F(CudaLifecycle, LeavesCuptiThereWhereItIsNotToldOfTheCall) {
  stop_and_read();
  fake_cupti_fail("cuptiEnableCallback", CUPTI_ERROR_UNKNOWN);
  cuda::disable();
  EXPECT_EQ(fake_cupti_finalized(), 0u);
  expect_nothing_left();
}

TEST_F(CudaLifecycle, NoErrorOfCuptiHarmsTheRecording) {
  const char* functions[] = {
      "cuptiSubscribe",      "cuptiActivityRegisterTimestampCallback", "cuptiActivityRegisterCallbacks",
      "cuptiActivityEnable", "cuptiEnableCallback",                    "cuptiActivityFlushAll",
  };
  testing::internal::CaptureStderr();
  for (const char* function : functions) {
    Session::stop(EndReason::kStopped);
    fake_cupti_fail(function, CUPTI_ERROR_UNKNOWN);
    start();
    call(kDriver, kLaunchKernel, 1);
    run_kernel(1);
    DeviceTrace trace = stop_and_read();
    EXPECT_EQ(state(), "failed") << function;
    std::string error = std::string(function) + " gave CUPTI_ERROR_UNKNOWN (999)";
    EXPECT_EQ(cuda::status().error, error);
    EXPECT_NE(trace.property("\"cuda\"").find("\"state\": \"failed\", \"error\": \"" + error), std::string::npos);
    fake_cupti_reset();
    start();
    EXPECT_EQ(state(), "recording") << "after the error of " << function;
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(CudaLifecycle, ErrorsOfWhatIsNotNeededChangeNothing) {
  const char* functions[] = {"cuptiActivitySetAttribute", "cuptiActivityGetNumDroppedRecords", "cuptiGetDeviceId"};
  Session::stop(EndReason::kStopped);
  for (const char* function : functions) fake_cupti_fail(function, CUPTI_ERROR_NOT_SUPPORTED);
  start();
  fake_cupti_context(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0);
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  EXPECT_EQ(state(), "recording");
  EXPECT_EQ(stop_and_read().of(kKernel).size(), 1u);
}

TEST_F(CudaLifecycle, ADriverThatIsGoneIsNotCalled) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  fake_driver_set_state(CUDA_ERROR_DEINITIALIZED);
  uint64_t flushes = fake_cupti_flushes();
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(fake_cupti_flushes(), flushes);
  EXPECT_EQ(trace.calls_named("cuLaunchKernel").size(), 1u);
}

}  // namespace
}  // namespace rlscope
