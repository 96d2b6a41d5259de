// The detail of a sweep and the events of a window, as Python's objects: classes of rlscope/analysis/detail/swept.py.
#pragma once
#include "event_window.h"
#include "python_rows.h"
#include "sweep_result.h"
#include "trace_file.h"

namespace rlscope {

// `borders` are the ends of bins as Python gave them.
Owned to_swept(const DetailResult& detail, PyObject* borders, ToPython& to_python);
// Adds the names of the events.
Owned to_swept(const TraceFile& file, EventWindow& window);

}  // namespace rlscope
