// A tournament: after any changes it finds what looking at all numbers finds.
#include "tournament.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rlscope {
namespace {

void expect_equal(const Tournament& tournament, const std::vector<uint64_t>& numbers) {
  size_t first = static_cast<size_t>(std::min_element(numbers.begin(), numbers.end()) - numbers.begin());
  uint64_t second = Tournament::kLargest;
  for (size_t place = 0; place < numbers.size(); place++) {
    ASSERT_EQ(tournament[place], numbers[place]);
    if (place != first) second = std::min(second, numbers[place]);
  }
  auto found = tournament.find();
  EXPECT_EQ(found.place, first);
  EXPECT_EQ(found.second, second);
  EXPECT_EQ(tournament.smallest(), numbers[first]);
}

TEST(Tournament, OfOneHasNoSecond) {
  Tournament tournament;
  tournament.insert(0, 7);
  expect_equal(tournament, {7});
}

TEST(Tournament, FindsTheFirstOfEqualNumbers) {
  Tournament tournament;
  for (uint64_t number : {5, 3, 3}) tournament.insert(0, number);
  expect_equal(tournament, {3, 3, 5});
}

// Numbers are few, so that many are equal, and some places have none.
TEST(Tournament, AgreesWithLookingAtAll) {
  for (unsigned seed = 0; seed < 200; seed++) {
    std::mt19937 random(seed);
    auto number = [&] { return random() % 8 == 0 ? Tournament::kLargest : random() % 16; };
    Tournament tournament;
    std::vector<uint64_t> numbers;
    for (int step = 0; step < 300; step++) {
      unsigned change = numbers.size() < 2 ? 0 : random() % 8;
      size_t place = random() % (numbers.size() + (change == 0));
      auto at = numbers.begin() + static_cast<std::ptrdiff_t>(place);
      if (change == 0) {
        tournament.insert(place, *numbers.insert(at, number()));
      } else if (change == 1) {
        tournament.erase(place);
        numbers.erase(at);
      } else {
        tournament.set(place, *at = number());
      }
      expect_equal(tournament, numbers);
    }
  }
}

}  // namespace
}  // namespace rlscope
