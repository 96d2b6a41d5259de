// Stacks have bounded many ids, whatever a program calls; of those beyond the bound the innermost frames are known.
#include "stack_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace rlscope {
namespace {

std::map<uint32_t, StackEntry> g_written;
bool g_can_write = true;

class Stacks : public ::testing::Test {
 protected:
  static constexpr uint32_t kDeeper = 99;

  void SetUp() override {
    g_written.clear();
    g_can_write = true;
    table_.clear(kDeeper);
  }

  // The codes of a stack's frames, innermost first.
  static std::vector<uint32_t> codes_of(uint32_t id) {
    std::vector<uint32_t> codes;
    for (; id; id = g_written.at(id).caller) codes.push_back(g_written.at(id).code);
    return codes;
  }
  static std::vector<StackFrame> frames(uint32_t innermost, size_t count) {
    std::vector<StackFrame> frames;
    for (size_t i = 0; i < count; i++) frames.push_back({innermost + static_cast<uint32_t>(i), 1});
    return frames;
  }

  StackTable table_{[](const StackEntry& entry) {
                      if (g_can_write) g_written[entry.id] = entry;
                      return g_can_write;
                    },
                    /*most_whole=*/40, /*most_cut=*/20};
};

TEST_F(Stacks, HaveOneIdForTheSameFrames) {
  uint32_t id = table_.id_of({{3, 30}, {2, 20}, {1, 10}});
  EXPECT_EQ(codes_of(id), (std::vector<uint32_t>{3, 2, 1}));
  EXPECT_EQ(table_.id_of({{3, 30}, {2, 20}, {1, 10}}), id);
  EXPECT_NE(table_.id_of({{3, 31}, {2, 20}, {1, 10}}), id);
  EXPECT_EQ(table_.size(), 4u);
  EXPECT_EQ(table_.cut(), 0u);
}

TEST_F(Stacks, BeyondTheBoundHaveTheirInnermostFrames) {
  uint32_t whole = table_.id_of(frames(1000, 40));
  ASSERT_EQ(codes_of(whole).size(), 40u);
  std::vector<StackFrame> deep = frames(2000, 100);
  uint32_t cut = table_.id_of(deep);
  std::vector<uint32_t> expected;
  for (size_t i = 0; i < StackTable::kFramesOfCut; i++) expected.push_back(2000 + static_cast<uint32_t>(i));
  expected.push_back(kDeeper);
  EXPECT_EQ(codes_of(cut), expected);
  EXPECT_EQ(table_.id_of(deep), cut);
  EXPECT_EQ(table_.id_of(frames(1000, 40)), whole);
  EXPECT_EQ(table_.cut(), 2u);
}

TEST_F(Stacks, AreNoMoreThanTheBoundWhateverComes) {
  for (uint32_t i = 0; i < 1000; i++) table_.id_of(frames(i * 100, 50));
  EXPECT_LE(table_.size(), 61u);
  EXPECT_EQ(g_written.size(), table_.size());
  EXPECT_EQ(table_.cut(), 1000u);
  EXPECT_EQ(codes_of(table_.id_of(frames(500'000, 50))), std::vector<uint32_t>{kDeeper});
}

TEST_F(Stacks, ThatCannotBeWrittenHaveNoId) {
  g_can_write = false;
  EXPECT_EQ(table_.id_of(frames(1, 3)), kTornStack);
  g_can_write = true;
  EXPECT_EQ(codes_of(table_.id_of(frames(1, 3))).size(), 3u);
}

}  // namespace
}  // namespace rlscope
