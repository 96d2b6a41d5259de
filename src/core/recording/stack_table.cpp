// The table of stacks, each of which is a frame and the stack that called it.
#include "stack_table.h"

#include <algorithm>

namespace rlscope {

void StackTable::clear(uint32_t deeper) {
  ids_.clear();
  deeper_ = deeper;
  cut_ = 0;
}

uint32_t StackTable::id_of(const std::vector<StackFrame>& frames) {
  if (auto id = add(frames, frames.size(), 0, most_whole_)) return *id;
  cut_++;
  uint32_t deeper = intern({0, deeper_, 0});
  if (deeper == kTornStack) return kTornStack;
  return add(frames, std::min(frames.size(), kFramesOfCut), deeper, most_).value_or(deeper);
}

// The id of the innermost frames below `caller`; nothing where that takes a new id and there are as many already.
std::optional<uint32_t> StackTable::add(const std::vector<StackFrame>& frames, size_t innermost, uint32_t caller, size_t most) {
  for (size_t i = innermost; i-- > 0;) {
    Key key{caller, frames[i].code, frames[i].line};
    if (ids_.size() >= most && ids_.find(key) == ids_.end()) return std::nullopt;
    caller = intern(key);
    if (caller == kTornStack) break;
  }
  return caller;
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
