// Told by the files: the import system has no file on disk, and RL-Scope's package has these folders in measured processes.
#include "stack_places.h"

#include <algorithm>

namespace rlscope {
namespace {

constexpr std::string_view kOfImports[] = {"<frozen importlib", "<frozen zipimport", "<frozen runpy"};
constexpr std::string_view kPackage = "/rlscope/";
constexpr std::string_view kOfRecorder[] = {"record/", "libraries/", "callbacks/", "trace/", "text/", "__init__.py", "boot.py", "notebook.py"};

template <size_t kCount>
bool starts_with_any(std::string_view text, const std::string_view (&starts)[kCount]) {
  return std::any_of(starts, starts + kCount, [&](std::string_view start) { return text.substr(0, start.size()) == start; });
}

}  // namespace

bool is_place(std::string_view file) {
  if (starts_with_any(file, kOfImports)) return false;
  size_t package = file.rfind(kPackage);
  return package == std::string_view::npos || !starts_with_any(file.substr(package + kPackage.size()), kOfRecorder);
}

}  // namespace rlscope
