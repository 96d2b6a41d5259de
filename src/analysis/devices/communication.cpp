// Knows NCCL's kernels by how their names begin.
#include "communication.h"

namespace rlscope {
namespace {

// Of versions before 2.19, from then on, and those on symmetric memory, which 2.27 and later ones call differently. Then
// what the recorder calls a copy between devices.
constexpr std::string_view kBeginnings[] = {"ncclKernel", "ncclDevKernel", "ncclSymDevKernel", "ncclSymkDevKernel",
                                            "memcpy PtoP"};

// `_Z37ncclDevKernel_...`: a mangled name has its length before it.
std::string_view without_length(std::string_view name) {
  if (name.substr(0, 2) != "_Z") return name;
  size_t at = name.find_first_not_of("0123456789", 2);
  return at == std::string_view::npos ? name : name.substr(at);
}

}  // namespace

bool is_communication(std::string_view name) {
  std::string_view plain = without_length(name);
  for (std::string_view beginning : kBeginnings) {
    if (plain.substr(0, beginning.size()) == beginning) return true;
  }
  return false;
}

}  // namespace rlscope
