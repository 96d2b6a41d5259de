// The detail of a sweep and the events of a window, as Python's dicts. rlscope/_analysis.pyi says what they hold.
#pragma once
#include "event_window.h"
#include "python_values.h"
#include "sweep_result.h"
#include "trace_file.h"

namespace rlscope {

Owned to_dict(const DetailResult& detail);
Owned to_dict(const TraceFile& file, const EventWindow& window);

}  // namespace rlscope
