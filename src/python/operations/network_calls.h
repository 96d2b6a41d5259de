// Follows the calls of networks in scripts that train without a library.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_network_calls(PyObject* module);

}  // namespace rlscope
