// A fixture that records this process into a directory of its own.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "session.h"

namespace rlscope {

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rlscope_test_XXXXXX";
    directory_ = mkdtemp(name);
    ASSERT_EQ(Session::start(directory_), 0);
    path_ = Session::path();
  }
  void TearDown() override {
    Session::stop(EndReason::kStopped);
    std::filesystem::remove_all(directory_);
  }

  std::string directory_;
  std::string path_;
};

}  // namespace rlscope
