// The table of stacks, each of which is a frame and the stack that called it.
#include "stack_table.h"

#include <algorithm>
#include <new>

namespace rlscope {

void StackTable::clear(uint32_t deeper) {
  ids_.clear();
  deeper_ = deeper;
  cut_ = 0;
}

uint32_t StackTable::id_of(const std::vector<StackFrame>& frames) {
  std::vector<uint32_t> known;
  return id_of(frames, known);
}

uint32_t StackTable::id_of(const std::vector<StackFrame>& frames, std::vector<uint32_t>& known) try {
  uint32_t stack = known.empty() ? 0 : known.back();
  for (size_t i = frames.size() - known.size(); i-- > 0;) {
    std::optional<uint32_t> inner = add(stack, frames[i], most_whole_);
    if (!inner) {
      known.clear();
      return id_of_cut(frames);
    }
    stack = *inner;
    if (stack == kTornStack) {
      known.clear();
      return stack;
    }
    known.push_back(stack);
  }
  return stack;
} catch (const std::bad_alloc&) {
  known.clear();
  return kTornStack;
}

uint32_t StackTable::id_of_cut(const std::vector<StackFrame>& frames) {
  cut_++;
  uint32_t deeper = intern({0, deeper_, 0});
  uint32_t stack = deeper;
  for (size_t i = std::min(frames.size(), kFramesOfCut); i-- > 0 && stack != kTornStack;) {
    std::optional<uint32_t> inner = add(stack, frames[i], most_);
    if (!inner) return deeper;
    stack = *inner;
  }
  return stack;
}

// The id of a frame that this stack called; nothing where that takes a new id and there are as many already.
std::optional<uint32_t> StackTable::add(uint32_t caller, const StackFrame& frame, size_t most) {
  Key key{caller, frame.code, frame.line};
  if (ids_.size() >= most && ids_.find(key) == ids_.end()) return std::nullopt;
  return intern(key);
}

uint32_t StackTable::intern(const Key& key) {
  auto [place, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(ids_.size() + 1));
  if (is_new && !write_({place->second, key.caller, key.code, key.line})) {
    ids_.erase(place);
    return kTornStack;
  }
  return place->second;
}

}  // namespace rlscope
