// Where the threads of a process were at their last records: what they had begun and not ended, and their last stacks.
#pragma once
#include "swept_rows.h"
#include "trace_file.h"

namespace rlscope {

// Of each thread only the last chunks are read, back to where its innermost boundary was begun; of stacks all.
ProcessPlaces last_places(TraceFile& file);

}  // namespace rlscope
