// What the GPU layer writes: calls, device work, who launched it, when it ran.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_recording.h"
#include "sweep.h"
#include "trace_reader.h"

namespace rlscope {
namespace {

using CudaRecords = CudaRecording;

TEST_F(CudaRecords, AKernelBelongsToTheOperationThatLaunchedIt) {
  CodedId loop = operation("training_loop"), backward = operation("backpropagation"), update = operation("update");
  StreamWriter* writer = Session::writer();
  writer->begin(loop);
  writer->begin(backward);
  writer->begin(update);
  call(kDriver, kLaunchKernel, 10);
  writer->end_to(0);
  run_kernel(10, "_Z4gemmPf");  // it runs when the operation has ended
  DeviceTrace trace = stop_and_read();
  std::vector<ReadRecord> kernels = trace.of(kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "_Z4gemmPf");
  EXPECT_EQ(kernels[0].launch_site.stream, 0u);
  EXPECT_EQ(trace.operation_of(kernels[0]), "update");
  EXPECT_EQ(kernels[0].launch_site.stage, Stage::kBackpropagation);
  QueueEntry queue = trace.queues.at(kernels[0].stream);
  EXPECT_EQ(queue.device, 0u);
  EXPECT_EQ(queue.context, 1u);
  EXPECT_EQ(queue.cuda_stream, 7u);
  EXPECT_EQ(trace.header.unresolved_launches, 0u);
  EXPECT_EQ(trace.header.dropped_device_records, 0u);
}

TEST_F(CudaRecords, WorkLaunchedWhileWeightsAreLoadedIsSynchronisation) {
  CodedId backward = operation("backpropagation"), synchronise = operation("synchronisation"), load = operation("load");
  StreamWriter* writer = Session::writer();
  for (CodedId opened : {backward, synchronise, load}) writer->begin(opened);
  call(kDriver, kLaunchKernel, 10);
  writer->end_to(0);
  run_kernel(10);
  DeviceTrace trace = stop_and_read();
  ASSERT_EQ(trace.of(kKernel).size(), 1u);
  EXPECT_EQ(trace.operation_of(trace.of(kKernel)[0]), "load");
  EXPECT_EQ(trace.of(kKernel)[0].launch_site.stage, Stage::kSynchronisation);
}

TEST_F(CudaRecords, AHelperThreadInheritsTheMainThreadsOperation) {
  CodedId backward = operation("backpropagation"), own = operation("prefetch");
  StreamWriter* writer = Session::writer();
  writer->begin(backward);
  std::thread([] { call(kDriver, kLaunchKernel, 1); }).join();
  std::thread([&] {
    Session::writer()->begin(own);
    call(kDriver, kLaunchKernel, 2);
    Session::writer()->end();
  }).join();
  writer->end();
  std::thread([] { call(kDriver, kLaunchKernel, 3); }).join();
  for (uint32_t correlation : {1, 2, 3}) run_kernel(correlation);
  DeviceTrace trace = stop_and_read();
  std::vector<ReadRecord> kernels = trace.of(kKernel);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(trace.operation_of(kernels[0]), "backpropagation");
  EXPECT_EQ(kernels[0].launch_site.stage, Stage::kBackpropagation);
  EXPECT_EQ(trace.operation_of(kernels[1]), "prefetch");
  EXPECT_EQ(trace.operation_of(kernels[2]), "");
  EXPECT_EQ(kernels[2].launch_site.stage, Stage::kNone);
  for (const ReadRecord& kernel : kernels) EXPECT_NE(kernel.launch_site.stream, 0u);
}

TEST_F(CudaRecords, TheBodyOfALoopInAGraphBelongsToTheLaunchOfTheGraph) {
  CodedId collect = operation("collect"), learn = operation("learn");
  StreamWriter* writer = Session::writer();
  for (auto [name, correlation] : {std::pair{collect, 30u}, std::pair{learn, 40u}}) {
    writer->begin(name);
    call(kRuntime, kGraphLaunch, correlation);
    writer->end();
  }
  // Both were launched before the first began; a body has streams of its own, and no number of a launch.
  uint64_t start_ns = monotonic_ns();
  auto run = [&](uint32_t correlation, uint64_t at, uint32_t stream, uint32_t graph, uint32_t context = 1) {
    fake_cupti_kernel({correlation, start_ns + at, start_ns + at + 5, 0, context, stream, graph}, "a_kernel");
  };
  run(0, 5, 70, 9);  // its graph was launched before the recording
  run(30, 10, 7, 2);
  run(0, 20, 73, 10);
  run(0, 30, 73, 10);
  run(40, 50, 7, 5);
  run(0, 60, 75, 11);
  run(0, 70, 75, 11, 2);  // another context
  fake_cupti_deliver();
  DeviceTrace trace = stop_and_read();
  std::map<std::string, size_t> found;
  for (const ReadRecord& kernel : trace.of(kKernel)) found[trace.operation_of(kernel)]++;
  EXPECT_EQ(found, (std::map<std::string, size_t>{{"collect", 3}, {"learn", 2}, {"", 2}}));
  EXPECT_EQ(trace.header.unresolved_launches, 2u);
}

TEST_F(CudaRecords, TheDriversCallInsideTheRuntimesIsPartOfIt) {
  {
    CudaCallScope outer(kRuntime, kGraphLaunch, 20);
    call(kDriver, kGraphLaunchInDriver, 21);
  }
  call(kDriver, kGraphLaunchInDriver, 22);
  for (uint32_t correlation : {20, 21, 22}) run_kernel(correlation);  // whichever id CUPTI gives the kernel
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.calls_named("cudaGraphLaunch").size(), 1u);
  EXPECT_EQ(trace.calls_named("cuGraphLaunch").size(), 1u);
  EXPECT_EQ(trace.of(kKernel).size(), 3u);
  EXPECT_EQ(trace.header.unresolved_launches, 0u);
}

TEST_F(CudaRecords, AKernelsLaunchIsFollowedInTheDriverAlone) {
  {
    CudaCallScope outer(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 20);
    call(kDriver, kLaunchKernel, 20);
  }
  run_kernel(20);
  EXPECT_EQ(fake_cupti_callbacks(), 2u);
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.calls_named("cudaLaunchKernel").size(), 0u);
  EXPECT_EQ(trace.calls_named("cuLaunchKernel").size(), 1u);
  EXPECT_EQ(trace.header.unresolved_launches, 0u);
}

TEST_F(CudaRecords, CallsThatWaitAreToldFromCallsThatWork) {
  call(kDriver, kLaunchKernel, 1);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, 2);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, 3);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, 4);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000, 5);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, 6);
  call(kDriver, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 7);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 8);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 9);
  EXPECT_EQ(fake_cupti_callbacks(), 14u) << "getters must not cost a callback";
  DeviceTrace trace = stop_and_read();
  std::map<std::string, Category> categories;
  for (const ReadCall& call : trace.calls) {
    categories[call.name] = call.category;
    EXPECT_GE(call.end_ticks, call.begin_ticks);
    EXPECT_NE(call.end_ticks, 0u);
  }
  std::map<std::string, Category> expected = {
      {"cuLaunchKernel", Category::kCuda},      {"cudaStreamSynchronize", Category::kCudaWait},
      {"cudaMemcpy", Category::kCudaWait},      {"cudaMemcpyAsync", Category::kCuda},
      {"cudaFree", Category::kCudaWait},        {"cuCtxSynchronize", Category::kCudaWait},
  };
  EXPECT_EQ(categories, expected);
  size_t copies = 0;
  for (const auto& [id, name] : trace.names) copies += name.text == "cudaMemcpyAsync";
  EXPECT_EQ(copies, 1u) << "both variants of a call share one name";
}

TEST_F(CudaRecords, AReplayedGraphShowsItsKernels) {
  CodedId inference = operation("inference");
  StreamWriter* writer = Session::writer();
  writer->begin(inference);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, 30);
  writer->end();
  uint64_t now_ns = monotonic_ns();
  // 5000 kernels fill several buffers.
  for (uint64_t i = 0; i < 5000; i++) fake_cupti_kernel({30, now_ns + 20 * i, now_ns + 20 * i + 10, 0, 1, 7}, "node");
  DeviceTrace trace = stop_and_read();
  std::vector<ReadRecord> kernels = trace.of(kKernel);
  ASSERT_EQ(kernels.size(), 5000u);
  for (const ReadRecord& kernel : kernels) ASSERT_EQ(trace.operation_of(kernel), "inference");
  EXPECT_TRUE(std::is_sorted(kernels.begin(), kernels.end(),
                             [](const ReadRecord& a, const ReadRecord& b) { return a.start_ticks < b.start_ticks; }));
  EXPECT_TRUE(fake_cupti_buffers_were_zero());
}

TEST_F(CudaRecords, TimesAreOnTheProcesssClock) {
  call(kDriver, kLaunchKernel, 1);
  std::vector<ClockPair> starts;
  for (int i = 0; i < 50; i++) {
    ClockPair start = read_clock_pair();
    timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
    ClockPair end = read_clock_pair();
    fake_cupti_kernel({1, start.monotonic_ns, end.monotonic_ns, 0, 1, 7}, "a_kernel");
    starts.push_back(start);
    starts.push_back(end);
  }
  std::vector<ReadRecord> kernels = stop_and_read().of(kKernel);
  ASSERT_EQ(kernels.size(), 50u);
  for (size_t i = 0; i < 50; i++) {
    // Reading a pair is as exact as two ticks; sanitizers make it slower.
    EXPECT_NEAR(static_cast<double>(kernels[i].start_ticks), static_cast<double>(starts[2 * i].ticks), 10);
    EXPECT_NEAR(static_cast<double>(kernels[i].end_ticks), static_cast<double>(starts[2 * i + 1].ticks), 10);
  }
}

TEST_F(CudaRecords, EveryKindOfWorkHasItsNameAndBytes) {
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, 1);
  call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, 2);
  uint64_t now_ns = monotonic_ns();
  auto work = [&](uint32_t correlation, uint64_t order) {
    return FakeWork{correlation, now_ns + 100 * order, now_ns + 100 * order + 50, 1, 2, 3};
  };
  fake_cupti_copy(work(1, 0), CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096);
  fake_cupti_copy(work(1, 1), CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 0);
  fake_cupti_peer_copy(work(1, 2), 1ull << 40);
  fake_cupti_memset(work(2, 3), 12);
  fake_cupti_overhead(work(1, 4), CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
  DeviceTrace trace = stop_and_read();
  std::vector<ReadRecord> copies = trace.of(kCopy);
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].name, "memcpy HtoD");
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[1].name, "memcpy DtoH");
  EXPECT_EQ(copies[1].bytes, 0u);
  EXPECT_EQ(copies[2].name, "memcpy PtoP");
  EXPECT_EQ(copies[2].bytes, 1ull << 40);
  for (const ReadRecord& copy : copies) EXPECT_EQ(trace.queues.at(copy.stream).device, 1u);
  ASSERT_EQ(trace.of(kMemset).size(), 1u);
  EXPECT_EQ(trace.of(kMemset)[0].bytes, 12u);
  ASSERT_EQ(trace.of(kCuptiWork).size(), 1u);
  EXPECT_EQ(trace.of(kCuptiWork)[0].name, "lazy function loading");
  EXPECT_EQ(trace.of(kCuptiWork)[0].launch_site.stream, kNoStream) << "overhead is not the launch's";
  EXPECT_EQ(trace.queues.at(trace.of(kCuptiWork)[0].stream).device, kHost);
  EXPECT_EQ(trace.header.unresolved_launches, 0u);
}

TEST_F(CudaRecords, BuffersOutOfOrderGiveChunksThatAreInOrder) {
  call(kDriver, kLaunchKernel, 1);
  fake_cupti_reverse_buffers();
  fake_cupti_use_worker();
  uint64_t now_ns = monotonic_ns();
  auto run = [&](uint64_t order, uint32_t stream) {
    fake_cupti_kernel({1, now_ns + 1000 * order, now_ns + 1000 * order + 900, 0, 1, stream}, "k");
  };
  // Two buffers of one flush, interleaved; then one whose records lie between those that are already written.
  for (uint64_t i = 0; i < 100; i += 2) run(i, 7);
  fake_cupti_next_buffer();
  for (uint64_t i = 99; i < 100; i -= 2) run(i, 7), run(i, 8);
  while (fake_cupti_flushes() == 0) std::this_thread::yield();  // by the thread of our own
  while (fake_cupti_state().buffers_out > 0) std::this_thread::yield();
  run(50, 7);
  fake_cupti_next_buffer();
  run(150, 7);
  fake_cupti_next_buffer();
  run(149, 7);
  fake_cupti_deliver();  // CUPTI gives full buffers back when it likes
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 153u);
  size_t of_stream_7 = 0;
  for (const auto& chunk : trace.chunks) {
    ASSERT_FALSE(chunk.empty());
    EXPECT_TRUE(std::is_sorted(chunk.begin(), chunk.end(),
                               [](const ReadRecord& a, const ReadRecord& b) { return a.start_ticks < b.start_ticks; }));
    for (const ReadRecord& record : chunk) EXPECT_EQ(record.stream, chunk[0].stream);
    of_stream_7 += trace.queues.at(chunk[0].stream).cuda_stream == 7;
  }
  EXPECT_EQ(of_stream_7, 2u);
  EXPECT_EQ(fake_cupti_state().buffers_out, 0u);
}

TEST_F(CudaRecords, WhatIsLostIsCounted) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  run_kernel(99);                                        // of a call that nobody saw
  fake_cupti_kernel({1, 0, 0, 0, 1, 7}, "without time");  // CUPTI had no memory for its times
  fake_cupti_drop(5);
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.header.unresolved_launches, 1u);
  EXPECT_EQ(trace.header.dropped_device_records, 6u);
  std::vector<ReadRecord> kernels = trace.of(kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].launch_site.stream, 0u);
  EXPECT_EQ(kernels[1].launch_site.stream, kNoStream);
  EXPECT_EQ(kernels[1].launch_site.operation, 0u);
}

TEST_F(CudaRecords, WorkThatGoesOnWhenTheRecordingEndsIsCountedAsLost) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  fake_cupti_unfinished_kernel();
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 1u);
  EXPECT_EQ(trace.header.dropped_device_records, 1u);
  EXPECT_EQ(fake_cupti_state().buffers_out, 0u);
}

TEST_F(CudaRecords, DevicesAreDescribedOnce) {
  fake_cupti_context(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0);
  fake_cupti_context(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0);
  call(kDriver, kLaunchKernel, 1);
  uint64_t now_ns = monotonic_ns();
  fake_cupti_kernel({1, now_ns, now_ns + 1, 1, 2, 7}, "k");  // of a context that was there before us
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.property("devices"),
            "{\"devices\": {\"0\": {\"uuid\": \"GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00\", "
            "\"name\": \"Fake \\\"GPU\\\"\", \"compute_capability\": \"9.0\"}, "
            "\"1\": {\"uuid\": \"MIG-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01\", "
            "\"name\": \"Fake GPU MIG 1g.10gb\", \"compute_capability\": \"9.0\"}}}");
  size_t descriptions = 0;
  for (const std::string& json : trace.properties) descriptions += json.find("devices") != std::string::npos;
  EXPECT_EQ(descriptions, 2u);
  EXPECT_NE(trace.property("\"cuda\"").find("\"state\": \"recorded\""), std::string::npos);
  EXPECT_NE(trace.property("\"cuda\"").find("\"driver_version\": 13000, \"cupti_version\": 130001"), std::string::npos);
}

TEST_F(CudaRecords, RecordsAreFetchedBeforeAContextGoes) {
  call(kDriver, kLaunchKernel, 1);
  run_kernel(1);
  fake_cupti_context(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, 0);
  EXPECT_EQ(fake_cupti_flushes(), 1u);
  run_kernel(1);
  {
    CudaCallScope reset(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, 2);
    EXPECT_EQ(fake_cupti_flushes(), 2u);
    EXPECT_EQ(fake_cupti_state().buffers_out, 0u);
  }
  DeviceTrace trace = stop_and_read();
  EXPECT_EQ(trace.of(kKernel).size(), 2u);
  EXPECT_EQ(trace.calls_named("cudaDeviceReset").size(), 1u);
}

TEST_F(CudaRecords, TheAnalysisReadsThem) {
  CodedId backward = operation("backpropagation");
  StreamWriter* writer = Session::writer();
  writer->begin(backward);
  call(kDriver, kLaunchKernel, 1);
  uint64_t now_ns = monotonic_ns();
  fake_cupti_kernel({1, now_ns, now_ns + 1'000'000, 0, 1, 7}, "long");
  fake_cupti_kernel({1, now_ns + 500'000, now_ns + 2'000'000, 0, 1, 8}, "beside");
  timespec pause{0, 3'000'000};
  nanosleep(&pause, nullptr);
  writer->end();
  Session::stop(EndReason::kStopped);
  TraceFile file(path_, false);
  SweepResult result = sweep(file, {});
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_EQ(result.devices[0].kernel_count, 2u);
  FileHeader header = file.header();
  double ticks_per_ns = static_cast<double>(header.last_pair.ticks - header.first_pair.ticks) /
                        static_cast<double>(header.last_pair.monotonic_ns - header.first_pair.monotonic_ns);
  EXPECT_NEAR(static_cast<double>(result.devices[0].busy_ticks), 2e6 * ticks_per_ns, 2e6 * ticks_per_ns / 100);
  EXPECT_EQ(result.cuda_calls.size(), 1u);
  uint64_t total = 0;
  for (const SweptTime& row : result.breakdown) total += row.ticks;
  EXPECT_EQ(total, result.end_ticks - result.start_ticks);
}

// For the thread sanitizer above all.
TEST_F(CudaRecords, EightThreadsLaunchWhileRecordingStopsAndStarts) {
  std::atomic<bool> is_done{false};
  std::atomic<uint32_t> launched{0};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 8; thread++) {
    threads.emplace_back([&is_done, &launched, thread] {
      for (uint32_t i = 0; !is_done; i++) {
        uint32_t correlation = thread << 24 | (i & 0xFFFF);
        {
          CudaCallScope outer(kRuntime, kGraphLaunch, correlation);
          call(kDriver, kGraphLaunchInDriver, correlation);
        }
        uint64_t now_ns = monotonic_ns();
        fake_cupti_kernel({correlation, now_ns - 10, now_ns, thread % 2, 1, thread}, "k");
        launched++;
        if (i % 512 == 0) call(kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, correlation);
      }
    });
  }
  auto let_them_launch = [&launched] {
    for (uint32_t before = launched; launched - before < 1000;) std::this_thread::yield();
  };
  std::vector<std::string> paths;
  for (int i = 0; i < 5; i++) {
    let_them_launch();
    if (i == 2) {
      cuda::release("another");
      cuda::reattach();
      let_them_launch();
    }
    paths.push_back(path_);
    Session::stop(EndReason::kStopped);
    start();
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& path : paths) {
    DeviceTrace trace(path);
    EXPECT_GT(trace.of(kKernel).size(), 0u);
    EXPECT_EQ(trace.header.misnested_operations, 0u);
  }
  stop_and_read();
}

}  // namespace
}  // namespace rlscope
