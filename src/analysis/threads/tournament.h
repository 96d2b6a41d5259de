// A tournament finds the smallest of several numbers anew, in few steps, whenever one of them has changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace rlscope {

// Places 0, 1, ... each hold a number. Node n of the tree holds the smaller one of nodes 2n and 2n + 1, the first node the
// smallest of all; the leaves are the places. A place that is not used holds the largest number there is.
class Tournament {
 public:
  static constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();

  struct Smallest {
    size_t place;     // the first one that has the smallest number
    uint64_t second;  // the smallest number in the other places
  };

  uint64_t operator[](size_t place) const { return nodes_[leaves_ + place]; }
  uint64_t smallest() const { return nodes_[1]; }

  Smallest find() const {
    size_t node = 1;
    uint64_t second = kLargest;
    while (node < leaves_) {
      uint64_t left = nodes_[2 * node], right = nodes_[2 * node + 1];
      node = 2 * node + (right < left);
      second = std::min(second, std::max(left, right));
    }
    return {node - leaves_, second};
  }

  void set(size_t place, uint64_t number) {
    size_t node = leaves_ + place;
    if (nodes_[node] == number) return;
    nodes_[node] = number;
    while (node > 1) {
      number = std::min(number, nodes_[node ^ 1]);
      node /= 2;
      nodes_[node] = number;
    }
  }

  void insert(size_t place, uint64_t number) {
    resize(size_ + 1);
    for (size_t other = size_ - 1; other > place; other--) nodes_[leaves_ + other] = nodes_[leaves_ + other - 1];
    nodes_[leaves_ + place] = number;
    play();
  }

  void erase(size_t place) {
    for (; place + 1 < size_; place++) nodes_[leaves_ + place] = nodes_[leaves_ + place + 1];
    resize(size_ - 1);
    play();
  }

 private:
  void resize(size_t size) {
    std::vector<uint64_t> numbers(nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_), nodes_.end());
    size_ = size;
    leaves_ = 1;
    while (leaves_ < size) leaves_ *= 2;
    numbers.resize(size, kLargest);
    numbers.resize(leaves_, kLargest);
    nodes_.assign(leaves_, kLargest);
    nodes_.insert(nodes_.end(), numbers.begin(), numbers.end());
  }

  void play() {
    for (size_t node = leaves_ - 1; node > 0; node--) nodes_[node] = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
  }

  size_t size_ = 0;
  size_t leaves_ = 1;
  std::vector<uint64_t> nodes_ = {kLargest, kLargest};
};

}  // namespace rlscope
