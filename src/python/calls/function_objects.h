// Calls of objects that each stand for one native function, as those of ctypes do.
#pragma once
#include <Python.h>

namespace rlscope {

// Gives the types of such objects their own slots back.
void restore_function_objects();

bool add_function_objects(PyObject* module);

}  // namespace rlscope
