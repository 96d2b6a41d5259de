// Ids of Python stacks, of which there are bounded many: a search that calls itself has a new one at each look.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api.h"
#include "trace_format.h"

namespace rlscope {

struct StackFrame {
  uint32_t code;
  uint32_t line;
};

class RLSCOPE_API StackTable {
 public:
  // Writes an entry of the catalog; false: nothing can be written.
  using Write = bool (*)(const StackEntry& entry);

  // So many stacks have all their frames. Of later ones only the innermost kFramesOfCut are known, and of those of them that
  // came after another `most_cut` only that they were there.
  StackTable(Write write, size_t most_whole = 1 << 18, size_t most_cut = 1 << 16)
      : write_(write), most_whole_(most_whole), most_(most_whole + most_cut) {}

  static constexpr size_t kFramesOfCut = 16;

  // Forgets all. `deeper`: the code that stands for the frames that are left out.
  void clear(uint32_t deeper);
  // The id of a stack, its innermost frame first; kTornStack where it could not be written, or there is no memory left.
  uint32_t id_of(const std::vector<StackFrame>& frames);
  // The same where the ids of some of its outer frames' stacks are known, the outermost first: then `known` has those of all
  // its frames, and none where it is not known whole.
  uint32_t id_of(const std::vector<StackFrame>& frames, std::vector<uint32_t>& known);
  size_t size() const { return ids_.size(); }
  // How many stacks were asked for that are not known whole.
  uint64_t cut() const { return cut_; }

 private:
  struct Key {
    uint32_t caller, code, line;
    bool operator==(const Key& other) const {
      return caller == other.caller && code == other.code && line == other.line;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t mixed = (uint64_t{key.caller} << 32 | key.code) * 0x9E3779B97F4A7C15u + key.line;
      return mixed * 0x9E3779B97F4A7C15u >> 16;
    }
  };

  std::optional<uint32_t> add(uint32_t caller, const StackFrame& frame, size_t most);
  uint32_t id_of_cut(const std::vector<StackFrame>& frames);
  uint32_t intern(const Key& key);

  Write write_;
  size_t most_whole_, most_;
  uint32_t deeper_ = 0;
  uint64_t cut_ = 0;
  std::unordered_map<Key, uint32_t, Hash> ids_;
};

}  // namespace rlscope
