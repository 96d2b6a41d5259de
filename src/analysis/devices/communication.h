// Which work of a device is communication with other devices: the one place that decides it, by what the work is called.
#pragma once
#include <string_view>

namespace rlscope {

// Of a kernel's name, mangled or not, or of what a copy is called.
bool is_communication(std::string_view name);

}  // namespace rlscope
