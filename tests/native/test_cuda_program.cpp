// The GPU layer in programs that know nothing of it: loaded by the driver, from the first line to the exit status.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device_trace.h"

extern char** environ;

namespace rlscope {
namespace {

class CudaProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rlscope_test_XXXXXX";
    directory_ = mkdtemp(name);
    set("CUDA_INJECTION64_PATH", FAKE_INJECTED);
    set("RLSCOPE_TRACE", directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void set(const std::string& variable, const std::string& value) { variables_.push_back(variable + "=" + value); }
  void unset(const std::string& variable) {
    auto is_it = [&](const std::string& text) { return text.compare(0, variable.size() + 1, variable + "=") == 0; };
    variables_.erase(std::remove_if(variables_.begin(), variables_.end(), is_it), variables_.end());
  }

  // Runs the program to its end, which is the same in all cases.
  void run(const char* driver, const char* cupti, const char* launches) {
    std::string output = directory_ + "/output", errors = directory_ + "/errors";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    std::vector<std::string> texts = {FAKE_PROGRAM, driver, cupti, launches};
    std::vector<char*> arguments, environment;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    for (char** variable = environ; *variable; variable++) environment.push_back(*variable);
    for (std::string& variable : variables_) environment.push_back(variable.data());
    environment.push_back(nullptr);
    ASSERT_EQ(posix_spawn(&pid_, FAKE_PROGRAM, &files, nullptr, arguments.data(), environment.data()), 0);
    posix_spawn_file_actions_destroy(&files);
    int status;
    waitpid(pid_, &status, 0);
    errors_ = read(errors);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status << errors_;
    EXPECT_EQ(read(output), "done\n");
  }

  bool has_trace() { return std::filesystem::exists(trace_path()); }
  DeviceTrace trace() { return DeviceTrace(trace_path()); }
  std::string trace_path() { return directory_ + "/" + std::to_string(pid_) + "-0.rlscope"; }
  std::string line(const std::string& sentence) {
    return "rlscope: GPU work of process " + std::to_string(pid_) + " is not recorded: " + sentence + "\n";
  }
  void expect_error(const std::string& sentence) {
    EXPECT_EQ(errors_, line(sentence));
    ASSERT_TRUE(has_trace());
    std::string facts = trace().property("\"cuda\"");
    EXPECT_NE(facts.find("\"state\": \"failed\", \"error\": "), std::string::npos) << facts;
    EXPECT_EQ(trace().header.end_reason, EndReason::kStopped);
  }

  std::string directory_;
  std::string errors_;
  pid_t pid_ = 0;

 private:
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::vector<std::string> variables_;
};

TEST_F(CudaProgram, IsRecordedFromInitializationToExit) {
  run(FAKE_DRIVER, FAKE_CUPTI, "1000");
  EXPECT_EQ(errors_, "");
  DeviceTrace recorded = trace();
  EXPECT_EQ(recorded.header.end_reason, EndReason::kStopped);
  EXPECT_EQ(recorded.of(kKernel).size(), 2000u);
  EXPECT_EQ(recorded.header.unresolved_launches, 0u);
  EXPECT_EQ(recorded.calls_named("cuLaunchKernel").size(), 2000u);
  EXPECT_NE(recorded.property("process_name").find("\"fake_program\""), std::string::npos);
  EXPECT_NE(recorded.property("devices").find("GPU-a0a1"), std::string::npos);
}

TEST_F(CudaProgram, WithCuda12) {
  set("FAKE_DRIVER_VERSION", "12090");
  run(FAKE_DRIVER, FAKE_CUPTI_12, "1000");
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(trace().of(kKernel).size(), 2000u);
  EXPECT_NE(trace().property("\"cuda\"").find("\"cupti_version\": 28"), std::string::npos);
}

TEST_F(CudaProgram, IsLeftAloneOutsideATrace) {
  unset("RLSCOPE_TRACE");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  EXPECT_EQ(errors_, "");
  EXPECT_FALSE(has_trace());
}

TEST_F(CudaProgram, GoesOnWithoutADirectoryToWriteTo) {
  unset("RLSCOPE_TRACE");
  set("RLSCOPE_TRACE", "/nonexistent");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  EXPECT_EQ(errors_, line("no trace can be written into /nonexistent: No such file or directory"));
}

TEST_F(CudaProgram, GoesOnWithoutCupti) {
  set("FAKE_DRIVER_VERSION", "11080");  // the libcupti of a toolkit on this machine does not fit either
  run(FAKE_DRIVER, "-", "10");
  EXPECT_TRUE(errors_.find("but the driver serves CUDA 11.8 at most") != std::string::npos ||
              errors_ == line("no libcupti was found in the process, on the loader's path or under /usr/local/cuda; "
                              "install that of the driver's CUDA: pip install nvidia-cuda-cupti (CUDA 13) or "
                              "nvidia-cuda-cupti-cu12"))
      << errors_;
}

TEST_F(CudaProgram, GoesOnWithADriverThatIsTooOld) {
  set("FAKE_DRIVER_VERSION", "12080");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error(std::string(FAKE_CUPTI) +
               " is of CUDA 13, but the driver serves CUDA 12.8 at most; update the driver, or install the libcupti of "
               "its CUDA: pip install nvidia-cuda-cupti-cu12");
}

TEST_F(CudaProgram, GoesOnWithALibraryThatLacksSomething) {
  set("FAKE_DRIVER_VERSION", "11080");
  run(FAKE_DRIVER, FAKE_CUPTI_LACKING, "10");
  expect_error(std::string(FAKE_CUPTI_LACKING) +
               " has no cuptiActivityFlushAll; the libcupti of CUDA 12 or 13 is needed");
}

TEST_F(CudaProgram, GoesOnWhereAnotherToolHasCupti) {
  set("FAKE_CUPTI_FAIL", "cuptiSubscribe=39");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error("another tool has CUPTI (Nsight, or a profiler in the program); record without it");
}

TEST_F(CudaProgram, GoesOnWithoutPrivileges) {
  set("FAKE_CUPTI_FAIL", "cuptiActivityEnable=35");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error(
      "cuptiActivityEnable is allowed to administrators only; one of them can allow it to all with the driver option "
      "NVreg_RestrictProfilingToAdminUsers=0");
}

TEST_F(CudaProgram, GoesOnWhereFlushesFail) {
  set("FAKE_CUPTI_FAIL", "cuptiActivityFlushAll=999");
  set("FAKE_PROGRAM_SLEEPS", "3");  // the line comes once, not with every flush
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error("cuptiActivityFlushAll gave CUPTI_ERROR_UNKNOWN (999)");
  EXPECT_EQ(trace().calls_named("cuLaunchKernel").size(), 20u);
}

TEST_F(CudaProgram, GoesOnWhereCuptiGivesUp) {
  set("FAKE_PROGRAM_FATAL", "1");
  set("FAKE_CUPTI_FLUSH_MS", "100000");  // CUPTI must not be called after that
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error("CUPTI has given up: the device fell off the bus");
  EXPECT_EQ(trace().calls_named("cuLaunchKernel").size(), 20u);
}

TEST_F(CudaProgram, EndsWhileAFlushHangs) {
  set("FAKE_CUPTI_FLUSH_MS", "100000");
  set("FAKE_PROGRAM_SLEEPS", "2");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  expect_error("CUPTI has hung while records were fetched");
  EXPECT_EQ(trace().calls_named("cuLaunchKernel").size(), 20u);
}

TEST_F(CudaProgram, IsFlushedEverySecond) {
  set("FAKE_PROGRAM_SLEEPS", "2");
  set("FAKE_CUPTI_FLUSH_MS", "1");
  run(FAKE_DRIVER, FAKE_CUPTI, "10");
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(trace().of(kKernel).size(), 20u);
}

}  // namespace
}  // namespace rlscope
