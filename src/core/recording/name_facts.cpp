// The table is mapped once, as large as any: what nobody touches takes no memory.
#include "name_facts.h"

#include <sys/mman.h>

#include "vocabulary.h"

namespace rlscope {

std::atomic<NameFacts*> g_name_facts{nullptr};

void note_name(uint32_t id, NameKind kind, Category category, std::string_view name) {
  static void* mapped =
      mmap(nullptr, kMostNameFacts * sizeof(NameFacts), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED || id >= kMostNameFacts) return;
  auto* facts = static_cast<NameFacts*>(mapped);
  bool is_operation = kind == NameKind::kOperation;
  facts[id].is_operation = is_operation;
  facts[id].is_boundary = kind == NameKind::kBoundary;
  facts[id].is_of_library =
      kind == NameKind::kBoundary && category != Category::kPython && category != Category::kNative;
  facts[id].is_native = kind == NameKind::kBoundary && (category == Category::kNative || category == Category::kSimulator ||
                                                       category == Category::kBackend);
  facts[id].is_wait = kCategoryColumns[static_cast<size_t>(category)].turn == Turn::kWaits;
  facts[id].is_cuda = category == Category::kCuda || category == Category::kCudaWait;
  facts[id].stage = static_cast<uint8_t>(is_operation ? stage_of_name(name) : Stage::kNone) & 0x1F;
  g_name_facts.store(facts, std::memory_order_release);
}

}  // namespace rlscope
