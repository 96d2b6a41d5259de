// Names of kernels as they stand in the source.
#pragma once
#include <string>

namespace rlscope {

// `name` itself if it is no mangled C++ name, or one whose text would be out of all proportion.
std::string demangled(const std::string& name);

}  // namespace rlscope
