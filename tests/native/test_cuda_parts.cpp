// The parts of the GPU layer by themselves: the search for libcupti, the table of launches, the conversion of times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "cuda_calls.h"
#include "cupti_library.h"
#include "driver.h"
#include "fake_driver.h"
#include "json.h"
#include "launch_table.h"
#include "tick_converter.h"

namespace rlscope::cuda {
namespace {

std::string directory_of(const char* path) { return std::filesystem::path(path).parent_path(); }

TEST(CudaLibrary, TheProcesssOwnComesFirst) {
  std::string error;
  std::unique_ptr<const CuptiLibrary> library(load_cupti(directory_of(FAKE_CUPTI_12), 13000, error));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->version, 130001u);
  EXPECT_EQ(std::filesystem::canonical(library->path), std::filesystem::canonical(FAKE_CUPTI));
}

TEST(CudaLibrary, AnOlderDriverGetsAnOlderLibrary) {
  std::string error;
  std::string directories = "/nonexistent::" + directory_of(FAKE_CUPTI_12);
  std::unique_ptr<const CuptiLibrary> library(load_cupti(directories, 12090, error));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->version, 28u);
}

TEST(CudaLibrary, WhatDoesNotFitIsExplained) {
  std::string error;
  EXPECT_EQ(load_cupti("", 11080, error), nullptr);
  EXPECT_NE(error.find(" is of CUDA 1"), std::string::npos) << error;
  EXPECT_NE(error.find("but the driver serves CUDA 11.8 at most"), std::string::npos) << error;
}

TEST(CudaLibrary, VersionsHaveTwoScales) {
  EXPECT_EQ(cuda_major_of_cupti(17), 11);
  EXPECT_EQ(cuda_major_of_cupti(18), 12);
  EXPECT_EQ(cuda_major_of_cupti(28), 12);
  EXPECT_EQ(cuda_major_of_cupti(130001), 13);
  EXPECT_EQ(cuda_major_of_cupti(140000), 14);
}

TEST(CudaDriver, SaysWhatItIs) {
  fake_driver_set_state(CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(driver_state(), DriverState::kUninitialized);
  fake_driver_set_state(CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(driver_state(), DriverState::kGone);
  fake_driver_set_state(CUDA_SUCCESS);
  EXPECT_EQ(driver_state(), DriverState::kReady);
  DeviceFacts facts;
  EXPECT_TRUE(device_facts(0, facts));
  EXPECT_EQ(facts.compute_capability, "9.0");
  EXPECT_FALSE(device_facts(2, facts));
}

TEST(CudaDriver, CountsDevicesByTheirBuses) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "gpus";
  for (const char* bus : {"0000:3b:00.0", "0000:18:00.0", "0001:00:00.0"}) std::filesystem::create_directories(folder / bus);
  EXPECT_EQ(number_of_device(folder, "0000:18:00.0"), 0);
  EXPECT_EQ(number_of_device(folder, "0000:3B:00.0"), 1);
  EXPECT_EQ(number_of_device(folder, "0001:00:00.0"), 2);
  EXPECT_EQ(number_of_device(folder, "0000:86:00.0"), std::nullopt);
  EXPECT_EQ(number_of_device(folder / "none", "0000:18:00.0"), std::nullopt);
}

TEST(CudaCalls, AreFoundByTheirNumber) {
  for (size_t place = 0; place < kCudaCallCount; place++) {
    EXPECT_EQ(find_cuda_call(kCudaCalls[place].domain, kCudaCalls[place].cbid), place) << kCudaCalls[place].name;
  }
  EXPECT_EQ(find_cuda_call(CUPTI_CB_DOMAIN_RUNTIME_API, 0), kCudaCallCount);
  EXPECT_EQ(find_cuda_call(CUPTI_CB_DOMAIN_RUNTIME_API, 1'000'000), kCudaCallCount);
  EXPECT_EQ(find_cuda_call(CUPTI_CB_DOMAIN_DRIVER_API, 1'000'000), kCudaCallCount);
  EXPECT_EQ(find_cuda_call(CUPTI_CB_DOMAIN_STATE, 1), kCudaCallCount);
}

TEST(CudaLaunchTable, ForgetsWhatIsFourMillionCallsOld) {
  LaunchTable table;
  ASSERT_TRUE(table.clear());
  table.store(5, 50);
  table.store(0xFFFFFFFF, 60);
  EXPECT_EQ(table.find(5), 50u);
  EXPECT_EQ(table.find(0xFFFFFFFF), 60u);
  EXPECT_EQ(table.find(6), 0u);
  EXPECT_EQ(table.find(5 + (1 << 22)), 0u);
  table.store(5 + (1 << 22), 70);
  EXPECT_EQ(table.find(5), 0u);
  EXPECT_EQ(table.find(5 + (1 << 22)), 70u);
  ASSERT_TRUE(table.clear());
  EXPECT_EQ(table.find(0xFFFFFFFF), 0u);
}

TEST(CudaTicks, AreInterpolatedWithTheRateOfThen) {
  if (g_clock_kind == ClockKind::kMonotonic) GTEST_SKIP() << "ticks are nanoseconds here";
  constexpr uint64_t kSecond = 1'000'000'000;
  TickConverter converter;
  converter.add({1000, 0, 0});
  converter.add({1000 + 100'000'000, kSecond, 0});
  converter.add({1000 + 300'000'000, 2 * kSecond, 0});
  converter.add({1000 + 300'000'010, 2 * kSecond + 100, 0});  // too close to say something about the rate
  EXPECT_EQ(converter.ticks(kSecond / 2), 1000 + 50'000'000u);
  EXPECT_EQ(converter.ticks(kSecond), 1000 + 100'000'000u);
  EXPECT_EQ(converter.ticks(kSecond + kSecond / 2), 1000 + 200'000'000u);
  EXPECT_EQ(converter.ticks(2 * kSecond + 100), 1000 + 300'000'010u);
  for (uint64_t second = 3; second < 10'000; second++) {
    converter.add({1000 + (second + 1) * 100'000'000, second * kSecond, 0});
  }
  EXPECT_EQ(converter.ticks(9998 * kSecond + kSecond / 2), 1000 + 999'950'000'000u);
}

TEST(CudaJson, QuotesWhatMustBeQuoted) {
  EXPECT_EQ(json_text("a \"b\" \\ \n \xC3\xA9"), "\"a \\\"b\\\" \\\\ \\u000a \xC3\xA9\"");
}

}  // namespace
}  // namespace rlscope::cuda
