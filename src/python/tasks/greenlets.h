// Greenlets are stacks of C of their own, between which a thread switches: each has its own open operations.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_greenlets(PyObject* module);

}  // namespace rlscope
