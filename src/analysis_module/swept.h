// What a sweep found and a file says, as Python's objects: the classes of rlscope/analysis/swept.py.
#pragma once
#include "python_values.h"
#include "sweep_result.h"
#include "trace_file.h"

namespace rlscope {

// `borders` are the ends of bins as Python gave them.
Owned to_swept(const TraceFile& file, const SweepResult& result, PyObject* borders);

// Later entries of the catalog replace the keys of earlier ones. One that is no JSON object becomes a reason in `why`.
Owned properties(const TraceFile& file, PyObject* why);

}  // namespace rlscope
