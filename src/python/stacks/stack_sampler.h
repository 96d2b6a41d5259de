// Looks at the Python stacks of this process's threads, so many times a second, from a thread that never takes the GIL.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_stack_sampler(PyObject* module);

}  // namespace rlscope
