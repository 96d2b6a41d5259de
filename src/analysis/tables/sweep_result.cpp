// The words that tables have for categories, resources and parts of a run.
#include "sweep_result.h"

#include <cstddef>

namespace rlscope {
namespace {

constexpr const char* kCategoryLabels[] = {"python", "simulator", "backend", "cuda", "wait", "cuda"};
constexpr const char* kResourceLabels[] = {"cpu",           "cpu+gpu", "gpu", "cpu+communication",
                                             "communication", "idle"};
constexpr const char* kPartLabels[] = {"before", "in", "after"};

}  // namespace

const char* category_label(Category category) { return kCategoryLabels[static_cast<size_t>(category)]; }

const char* resource_label(Resource resource) { return kResourceLabels[static_cast<size_t>(resource)]; }

const char* part_label(LoopPart part) { return kPartLabels[static_cast<size_t>(part)]; }

}  // namespace rlscope
