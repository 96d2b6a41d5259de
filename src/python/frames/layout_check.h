// Whether the running interpreter keeps its frames where this build reads them.
#pragma once
#include <Python.h>

namespace rlscope {

// False with an ImportError if it does not. Interpreters before Python 3.14 are not asked.
bool has_known_layout();

}  // namespace rlscope
