// Stacks that were seen: lines, who made native calls, and which of these waited for a device.
#include "stacks.h"

#include <gtest/gtest.h>

#include <optional>

#include "trace_bytes.h"

namespace rlscope {
namespace {

std::string code_entry(uint32_t id, const std::string& name, const std::string& path) {
  CodeEntry code{id, 1, static_cast<uint16_t>(name.size()), static_cast<uint16_t>(path.size())};
  return entry(EntryType::kCode, bytes_of(code) + name + path);
}

const std::string kNames = name_entry(1, NameKind::kOperation, Category::kPython, "step") +
                           name_entry(2, NameKind::kBoundary, Category::kBackend, "torch.Tensor.item") +
                           name_entry(3, NameKind::kBoundary, Category::kCudaWait, "cudaStreamSynchronize") +
                           name_entry(4, NameKind::kBoundary, Category::kCudaWait, "cuStreamSynchronize") +
                           code_entry(1, "main", "/a.py") +
                           entry(EntryType::kStack, bytes_of(StackEntry{1, 0, 1, 7})) +
                           entry(EntryType::kStack, bytes_of(StackEntry{2, 0, 1, 9}));

// A process that lives from 0 to 1000, whose main thread is in the operation; stacks are seen at 20 and at 35.
struct Process {
  Process()
      : file(file_header(0, 1000) + catalog(kNames) +
             chunk({ChunkKind::kStacks, 9, 0, 0, true, {}}, seen(20, 1) + seen(15, kTornStack))),
        trace(file.path(), false),
        limit(trace),
        tables(false, false),
        thread(0, true) {
    tables.learn_names(trace.names());
    stacks.emplace(trace, tables, limit, 0);
    scope = tables.inner_scope(0, tables.name(1));
    push(1);
  }
  static std::string seen(uint64_t delta, uint32_t stack) { return varint(delta + 1) + varint(0 + 1) + varint(stack + 1); }

  void push(uint32_t id, uint64_t now = 0) {
    thread.frames.push(thread.boundary, id, now);
    thread.boundary = static_cast<uint64_t>(trace.names()[id].category);
  }
  void pop(uint64_t now) {
    thread.boundary = thread.frames.pop().saved;
    if (thread.frames.depth() == thread.watched_frame) stacks->end_call(thread, now);
  }
  void sync(uint32_t id, uint64_t now) {
    stacks->begin_sync(thread, scope, id, true, now);
    push(id, now);
  }
  SweepResult result() {
    SweepResult result;
    stacks->write({&thread}, 1000, result);
    return result;
  }

  TemporaryFile file;
  TraceFile trace;
  RowLimit limit;
  SweepTables tables;
  Thread thread;
  std::optional<Stacks> stacks;
  Scope scope;
};

TEST(SweptStacks, ComeInOrderOfTime) {
  Process process;
  EXPECT_EQ(process.stacks->next_ticks(), 20u);
  SeenStack seen = process.stacks->take();
  EXPECT_EQ(seen.ticks, 20u);
  EXPECT_EQ(seen.stack, 1u);
  EXPECT_EQ(process.stacks->next_ticks(), 35u);
  EXPECT_EQ(process.stacks->take().stack, kTornStack);
  EXPECT_EQ(process.stacks->next_ticks(), kNever);
}

TEST(SweptStacks, GiveLinesTheirTime) {
  Process process;
  process.tables.row(process.scope).ticks[kPython] = 50;
  Row seen{};
  seen.ticks[kPython] = 20;
  process.stacks->lines().see(0, process.scope, seen, 1, process.tables);
  seen.ticks[kPython] = 50;
  process.stacks->lines().see(0, process.scope, seen, 2, process.tables);
  process.stacks->lines().count_torn();
  SweepResult result = process.result();
  ASSERT_EQ(result.lines.size(), 2u);
  EXPECT_EQ(result.lines[0].line, 9u);
  EXPECT_EQ(result.lines[0].ticks, 30u);
  EXPECT_EQ(result.lines[1].line, 7u);
  EXPECT_EQ(result.lines[1].ticks, 20u);
  EXPECT_EQ(result.torn_stacks, 1u);
}

TEST(SweptStacks, KnowTheLineOfACallThatWaits) {
  Process process;
  process.push(2, 100);
  process.stacks->see_call(process.thread, process.scope, 0, 1, 103);
  process.stacks->see_call(process.thread, process.scope, 0, 2, 104);  // the first one counts
  process.sync(3, 105);
  process.sync(4, 106);  // within the other
  process.pop(107);
  process.pop(115);
  process.pop(120);
  SweepResult result = process.result();
  ASSERT_EQ(result.sync_points.size(), 1u);
  const SweptSyncPoint& sync = result.sync_points[0];
  EXPECT_EQ(sync.operation, "step");
  EXPECT_EQ(sync.function, "torch.Tensor.item");
  EXPECT_EQ(sync.wait, "cudaStreamSynchronize");
  EXPECT_EQ(sync.calls, 1u);
  EXPECT_EQ(sync.ticks, 10u);
  EXPECT_EQ(sync.line, 7u);
  EXPECT_EQ(sync.stacks, 1u);
  ASSERT_EQ(result.call_sites.size(), 1u);
  EXPECT_EQ(result.call_sites[0].line, 7u);
  EXPECT_EQ(result.call_sites[0].stacks, 1u);
  EXPECT_EQ(result.call_sites[0].waiting_stacks, 1u);
}

TEST(SweptStacks, EndCallsThatAreOpenWithTheProcess) {
  Process process;
  process.push(2, 100);
  process.sync(3, 400);
  SweepResult result = process.result();
  ASSERT_EQ(result.sync_points.size(), 1u);
  EXPECT_EQ(result.sync_points[0].ticks, 600u);
  EXPECT_TRUE(result.call_sites.empty());
}

TEST(SweptStacks, OfCallsBeforeAWindowAreForgottenButTheirWaitsGoOn) {
  Process process;
  process.push(2, 100);
  process.stacks->see_call(process.thread, process.scope, 0, 1, 103);
  process.sync(3, 105);
  process.stacks->forget();
  process.stacks->go_on(process.thread, 0, 110);
  process.pop(118);
  process.pop(120);
  SweepResult result = process.result();
  ASSERT_EQ(result.sync_points.size(), 1u);
  EXPECT_EQ(result.sync_points[0].operation, "(none)");
  EXPECT_EQ(result.sync_points[0].ticks, 8u);
  EXPECT_EQ(result.sync_points[0].calls, 0u);
  EXPECT_TRUE(result.call_sites.empty());
}

}  // namespace
}  // namespace rlscope
