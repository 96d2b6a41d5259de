// Who has a device that several processes use: how long it works for one of them alone, how long for several at once, and
// how long it does nothing between the work of one and that of another.
#pragma once
#include <vector>

#include "swept_rows.h"
#include "work_union.h"

namespace rlscope {

// Of each place, in the time that the clocks map to. The times alone and the shared time sum to the busy union.
std::vector<SweptSharing> device_sharing(const std::vector<UnionInput>& inputs, bool recovers);

}  // namespace rlscope
