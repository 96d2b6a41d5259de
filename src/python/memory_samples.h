// Records ten times a second how much memory the process has: the host's, and what allocators gave out of the devices'.
#pragma once

namespace rlscope {

// For all recordings of this process from now on.
void sample_memory();

}  // namespace rlscope
