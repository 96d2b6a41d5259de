// Requests from outside are followed by Python, on the main thread between two instructions.
#pragma once
#include <Python.h>

namespace rlscope {

bool add_noticed_requests(PyObject* module);

}  // namespace rlscope
