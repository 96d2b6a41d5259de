// A fixture that records this process into a directory of its own.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "session.h"

namespace rlscope {

inline CodedId operation(const char* name) {
  return Session::intern(NameKind::kOperation, Category::kPython, name);
}
inline CodedId boundary(const char* name, Category category = Category::kBackend) {
  return Session::intern(NameKind::kBoundary, category, name);
}

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rlscope_test_XXXXXX";
    directory_ = mkdtemp(name);
    start();
  }
  void TearDown() override {
    Session::stop(EndReason::kStopped);
    std::filesystem::remove_all(directory_);
  }
  void start() {
    ASSERT_EQ(Session::start(directory_), 0);
    path_ = Session::path();
  }

  std::string directory_;
  std::string path_;
};

}  // namespace rlscope
