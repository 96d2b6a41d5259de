// Who owns an instant, and which threads are busy at once, of threads that no file holds.
#include "owner.h"

#include <gtest/gtest.h>

#include <deque>
#include <tuple>

#include "busy_threads.h"

namespace rlscope {
namespace {

constexpr Scope kInOperation = kStages;  // of the first operation, in no stage

// Threads with streams from 0 on.
class Team {
 public:
  explicit Team(uint32_t count) : owner((threads_.emplace_back(0, true), threads_[0])) {
    for (uint32_t stream = 1; stream < count; stream++) threads_.emplace_back(stream, false);
    std::vector<Thread*> all;
    for (Thread& thread : threads_) {
      thread.slot = all.size();
      all.push_back(&thread);
    }
    owner.set_threads(all);
  }
  // The thread is in a boundary of this category.
  void enter(size_t stream, Scope scope, uint8_t category) {
    threads_[stream].boundaries = 1;
    threads_[stream].scope = scope;
    threads_[stream].boundary = category;
    if (stream == 0) owner.scope_of_main_changed();
    owner.thread_changed(threads_[stream]);
  }
  void leave(size_t stream) {
    threads_[stream].boundaries = threads_[stream].scope = threads_[stream].boundary = 0;
    owner.thread_changed(threads_[stream]);
  }
  // Where it is, from 0 to 10 ticks it is blocked for some, and has no core for others.
  void block(size_t stream, uint64_t waiting_ticks, uint64_t queued_ticks = 0) {
    Thread& thread = threads_[stream];
    thread.gap = {0, 10, {waiting_ticks, queued_ticks}, thread.boundary};
    thread.boundary = waiting_ticks > 0 ? kWait : thread.boundary + kNoCore;
    owner.begin_gap(thread);
    owner.thread_changed(thread);
  }
  uint32_t owning() const { return owner.thread().stream; }
  Thread& operator[](size_t stream) { return threads_[stream]; }

 private:
  std::deque<Thread> threads_;

 public:
  Owner owner;
};

using Share = std::tuple<uint32_t, uint8_t, uint64_t>;  // stream, category, ticks

std::vector<Share> shares(const Owner& owner, uint64_t from, uint64_t until) {
  std::vector<Share> found;
  owner.share(from, until, [&](const Thread& thread, uint8_t category, uint64_t ticks) {
    if (ticks > 0) found.emplace_back(thread.stream, category, ticks);
  });
  return found;
}

TEST(Owner, IsOfTheFirstRank) {
  const std::pair<Scope, uint8_t> in_order[] = {
      {kInOperation, kPython}, {kInOperation, kNative}, {kInOperation, kSimulator}, {kInOperation, kCuda},
      {kInOperation, kBackend}, {0, kPython}, {0, kNative}, {0, kSimulator}, {0, kCuda}, {0, kBackend},
      {kInOperation, kCudaWait}, {kInOperation, kWait}, {0, kCudaWait}, {0, kWait}};
  for (const auto& [scope, category] : in_order) {
    bool is_sooner = false;
    for (const auto& [other_scope, other_category] : in_order) {
      Team team(3);
      team.enter(0, 0, kWait);
      team.enter(1, scope, category);
      team.enter(2, other_scope, other_category);
      bool is_last = scope == 0 && category == kWait;
      bool is_other_last = other_scope == 0 && other_category == kWait;
      is_sooner |= scope == other_scope && category == other_category;  // at the same rank the lower stream owns
      EXPECT_EQ(team.owning(), is_sooner ? (is_last ? 0u : 1u) : (is_other_last ? 0u : 2u));
    }
  }
}

TEST(Owner, IsAThreadThatRunsThenOneWithoutACoreThenOneThatWaits) {
  Team team(2);
  team.enter(0, kInOperation, kPython);
  team.enter(1, kInOperation, kBackend);
  team.block(0, 5, 2);
  team.block(1, 0, 10);
  EXPECT_EQ(shares(team.owner, 0, 10), (std::vector<Share>{{0, kPython, 3}, {0, kNoCore, 2}, {1, without_core(kBackend), 5}}));
  EXPECT_EQ(shares(team.owner, 0, 5), (std::vector<Share>{{0, kPython, 2}, {1, without_core(kBackend), 3}}));
}

TEST(Owner, IsAThreadThatTakesPart) {
  Team team(3);
  team.enter(0, 0, kWait);
  EXPECT_EQ(team.owning(), 0u);
  team.enter(2, 0, kBackend);
  EXPECT_EQ(team.owning(), 2u);
  team.leave(2);
  EXPECT_EQ(team.owning(), 0u);
}

TEST(Owner, HasTheMainThreadsScopeWhereItHasNone) {
  Team team(3);
  team.enter(1, 0, kBackend);
  team.enter(2, kInOperation, kBackend);
  team.enter(0, 0, kWait);
  EXPECT_EQ(team.owning(), 2u);
  team.enter(0, 2 * kInOperation, kWait);
  EXPECT_EQ(team.owning(), 1u);
  EXPECT_EQ(team.owner.scope(), 2 * kInOperation);
  EXPECT_EQ(team.owner.scope_of(team[2]), kInOperation);
  team.enter(0, 0, kWait);
  EXPECT_EQ(team.owning(), 2u);
}

TEST(Owner, RemainsWhileNoOtherComesBefore) {
  Team team(3);
  team.enter(0, kInOperation, kPython);
  team.enter(1, kInOperation, kSimulator);
  EXPECT_TRUE(team.owner.remains(team[0], kPython));
  EXPECT_FALSE(team.owner.remains(team[0], kBackend));
  EXPECT_TRUE(team.owner.remains(team[1], kPython));  // the main thread has the lower stream
  EXPECT_TRUE(team.owner.remains(team[1], kBackend));
  team.enter(0, kInOperation, kBackend);
  EXPECT_EQ(team.owning(), 1u);
  EXPECT_FALSE(team.owner.remains(team[0], kPython));
  Team alone(1);
  EXPECT_TRUE(alone.owner.remains(alone[0], kWait));
}

TEST(Owner, IsFoundAmongMany) {
  constexpr uint32_t kThreads = 12;
  Team team(kThreads);
  team.enter(0, 0, kWait);
  for (uint32_t stream = kThreads - 1; stream > 0; stream--) {
    team.enter(stream, kInOperation, kBackend);
    EXPECT_EQ(team.owning(), stream);
  }
  team.enter(7, kInOperation, kPython);
  EXPECT_EQ(team.owning(), 7u);
  for (uint32_t stream = 1; stream < kThreads; stream++) {
    EXPECT_EQ(team.owning(), stream <= 7 ? 7u : stream);
    team.leave(stream == 7 ? 1 : stream);
    if (stream == 7) team.leave(7);
  }
  EXPECT_EQ(team.owning(), 0u);
}

TEST(Owner, SharesTimeWithThreadsThatRunForAPartOfAGap) {
  Team team(3);
  team.enter(0, 0, kWait);
  team.enter(1, 0, kPython);
  team.block(1, 4);
  EXPECT_EQ(team.owning(), 0u);
  EXPECT_EQ(shares(team.owner, 0, 10), (std::vector<Share>{{1, kPython, 6}, {0, kWait, 4}}));
  EXPECT_EQ(shares(team.owner, 0, 5), (std::vector<Share>{{1, kPython, 3}, {0, kWait, 2}}));
  EXPECT_TRUE(team.owner.has_part(team[0]));
  EXPECT_TRUE(team.owner.has_part(team[1]));
  // One that works all the time comes before one that is later in rank, whatever that ran.
  team.enter(2, kInOperation, kBackend);
  EXPECT_EQ(shares(team.owner, 0, 10), (std::vector<Share>{{2, kBackend, 10}}));
  EXPECT_FALSE(team.owner.has_part(team[1]));
  team.leave(2);
  team.owner.end_gap(team[1]);
  EXPECT_EQ(shares(team.owner, 0, 10), (std::vector<Share>{{0, kWait, 10}}));
}

TEST(Owner, SharesNoMoreTimeThanThereIs) {
  Team team(2);
  team.enter(0, 0, kPython);
  team.enter(1, 0, kPython);
  team.block(0, 5);
  team.block(1, 2);
  EXPECT_EQ(shares(team.owner, 0, 10), (std::vector<Share>{{0, kPython, 5}, {1, kPython, 5}}));
}

TEST(BusyThreads, AddUpWhatTwoOrMoreAreBusy) {
  Thread main(0, true), first(1, false), second(2, false);
  BusyThreads busy;
  busy.note(main, true, 10);
  EXPECT_EQ(busy.ticks(20), 0u);
  busy.note(first, true, 20);
  busy.note(first, true, 30);
  EXPECT_EQ(busy.ticks(50), 30u);
  busy.note(second, true, 60);
  busy.note(main, false, 70);
  busy.note(first, false, 100);
  EXPECT_EQ(busy.ticks(200), 80u);
}

TEST(BusyThreads, CountThreadsThatHadOperations) {
  Thread main(0, true), other(1, false);
  BusyThreads busy;
  for (int i = 0; i < 3; i++) busy.begin_operation(main);
  busy.begin_operation(other);
  EXPECT_EQ(busy.in_operations(), 2u);
}

TEST(BusyThreads, BeginAgainWithWhatIsOpen) {
  Thread main(0, true), other(1, false);
  BusyThreads busy;
  for (Thread* thread : {&main, &other}) {
    busy.begin_operation(*thread);
    busy.note(*thread, true, 10);
  }
  SweepTables tables(false, false);
  tables.learn_names({{}, {NameKind::kOperation, Category::kPython, "step"}, {NameKind::kOperation, Category::kPython, "import"}});
  main.scope = tables.inner_scope(0, tables.name(2));  // which is in no operation of the program
  other.scope = tables.inner_scope(0, tables.name(1));
  busy.start_at(40, {&main, &other}, tables);
  EXPECT_EQ(busy.ticks(40), 0u);
  EXPECT_EQ(busy.ticks(47), 7u);
  EXPECT_EQ(busy.in_operations(), 1u);
  busy.begin_operation(main);
  EXPECT_EQ(busy.in_operations(), 2u);
}

}  // namespace
}  // namespace rlscope
