// The walk over slices on bytes that are damaged.
#include "slices.h"

#include <gtest/gtest.h>

#include "trace_bytes.h"

namespace rlscope {
namespace {

class CountingSink : public SliceSink {
 public:
  void begin(size_t, const Slice&) override { begun++; }
  void end(size_t, uint64_t) override { ended++; }
  uint64_t begun = 0, ended = 0;
};

const std::string kNames = catalog(name_entry(1, NameKind::kOperation, Category::kPython, "step") +
                                   name_entry(2, NameKind::kBoundary, Category::kWait, "all_reduce group:0"));

std::string task(uint64_t name) { return tagged_record(5, kTask, {name, 2, 1}); }
std::string call(uint64_t name) { return tagged_record(5, kCollective, {name, 0, 7, 8, 4, 2}); }

uint64_t slices_of(const std::string& payload, bool recovers) {
  TemporaryFile bytes(file_header(0, 100) + kNames + chunk({}, payload));
  TraceFile file(bytes.path(), recovers);
  CountingSink sink;
  walk_slices(file, {0, 100, {}, 0}, {}, sink);
  EXPECT_EQ(sink.begun, sink.ended);
  return sink.begun;
}

TEST(Slices, TasksAndCallsHaveNamesOfTheCatalog) {
  EXPECT_EQ(slices_of(task(1) + call(2), false), 2u);
  for (uint64_t name : {uint64_t{3}, uint64_t{99}, kMaxVarintValue - 1}) {
    EXPECT_THROW(slices_of(task(name), false), TraceDamage);
    EXPECT_THROW(slices_of(call(name), false), TraceDamage);
    EXPECT_EQ(slices_of(task(1) + task(name) + task(1), true), 1u);  // what follows in the chunk cannot be trusted
    EXPECT_EQ(slices_of(call(2) + call(name) + call(2), true), 1u);
  }
}

}  // namespace
}  // namespace rlscope
