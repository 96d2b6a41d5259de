// The operation in which Python's garbage collector runs.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_garbage_collections(PyObject* module);

}  // namespace rlscope
