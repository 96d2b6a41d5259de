// The sweep: one pass over a process's streams that gives each instant one owner. docs/analysis.md states the rules.
#pragma once
#include "sweep_options.h"
#include "sweep_result.h"
#include "trace_file.h"

namespace rlscope {

SweepResult sweep(TraceFile& file, const SweepOptions& options);

}  // namespace rlscope
