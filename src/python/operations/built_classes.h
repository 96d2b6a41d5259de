// Classes of the script are met where they are built: nothing imports the module that they are in.
#pragma once
#include <Python.h>

namespace rlscope {

// Adds `watch_classes` to the module. False with a Python exception set on failure.
bool add_built_classes(PyObject* module);

}  // namespace rlscope
