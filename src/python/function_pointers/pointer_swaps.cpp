// Method tables may lie in pages that the loader made read-only: these are made writable for the moment.
#include "pointer_swaps.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "clock.h"

namespace rlscope {
namespace {

struct Swap {
  void* original;
  void* replacement;
  bool is_writable;  // as its page is
};
std::unordered_map<void**, Swap>& swaps() {
  static auto* swaps = new std::unordered_map<void**, Swap>;
  return *swaps;
}
// By replacement, also of those that are used no more.
std::unordered_map<void*, void*>& originals() {
  static auto* originals = new std::unordered_map<void*, void*>;
  return *originals;
}

// A range of addresses with one protection, from /proc/self/maps. Where /proc is not mounted none is known.
struct Mapping {
  uintptr_t start, end;
  int protection;
};

std::vector<Mapping> read_mappings() {
  std::vector<Mapping> mappings;
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return mappings;
  char line[512];
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long start, end;
    char permissions[5];
    if (std::sscanf(line, "%lx-%lx %4s", &start, &end, permissions) != 3) continue;
    int protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                     (permissions[2] == 'x' ? PROT_EXEC : 0);
    mappings.push_back({start, end, protection});
  }
  std::fclose(maps);
  return mappings;
}

// Reading the mappings for each of two thousand pointers would take longer than everything else at start-up; using them
// for longer would miss what was mapped since.
constexpr uint64_t kMappingsValidNs = 10'000'000;
constexpr int kUnknown = -1;

int protection_of(void* address) {
  static auto* mappings = new std::vector<Mapping>;
  static uint64_t read_at_ns = 0;
  if (monotonic_ns() - read_at_ns > kMappingsValidNs) {
    *mappings = read_mappings();
    read_at_ns = monotonic_ns();
  }
  auto target = reinterpret_cast<uintptr_t>(address);
  for (const Mapping& mapping : *mappings) {
    if (target >= mapping.start && target < mapping.end) return mapping.protection;
  }
  return kUnknown;
}

// Whether that took no change of the page's protection.
bool write_pointer(void** where, void* value) {
  auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(where) & ~(page_bytes - 1));
  int protection = protection_of(where);
  if (protection == kUnknown) {  // it holds data, which others may write as well: so the page stays writable
    protection = PROT_READ | PROT_WRITE;
    if (mprotect(page, page_bytes, protection) != 0) return false;
  }
  bool is_writable = protection & PROT_WRITE;
  if (!is_writable && mprotect(page, page_bytes, protection | PROT_WRITE) != 0) return false;
  __atomic_store_n(where, value, __ATOMIC_RELEASE);
  if (!is_writable) mprotect(page, page_bytes, protection);
  return is_writable;
}

}  // namespace

vectorcallfunc* entry_of(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0) return nullptr;
  return reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(object) + type->tp_vectorcall_offset);
}

bool is_swapped(void** where) { return swaps().count(where) > 0; }

void swap_pointer(void** where, void* replacement, PyObject* owner) {
  if (is_swapped(where)) return;
  Py_XINCREF(owner);  // never released: a replacement may be running while recording stops
  void* original = *where;
  originals()[replacement] = original;
  swaps()[where] = {original, replacement, write_pointer(where, replacement)};
}

void change_replacement(void** where, void* replacement) {
  auto found = swaps().find(where);
  if (found == swaps().end()) return;
  found->second.replacement = replacement;
  originals()[replacement] = found->second.original;
  write_pointer(where, replacement);
}

void set_aside(void** where) {
  auto found = swaps().find(where);
  if (found == swaps().end()) return;
  const Swap& swap = found->second;
  if (swap.is_writable && *where == swap.replacement) __atomic_store_n(where, swap.original, __ATOMIC_RELEASE);
}

void swap_again(void** where) {
  auto found = swaps().find(where);
  if (found == swaps().end()) return;
  const Swap& swap = found->second;
  if (swap.is_writable && *where == swap.original) __atomic_store_n(where, swap.replacement, __ATOMIC_RELEASE);
}

void restore_pointers() {
  for (auto& [where, swap] : swaps()) {
    if (*where == swap.replacement) write_pointer(where, swap.original);
  }
  swaps().clear();
}

void* original_of(void* entry) {
  auto found = originals().find(entry);
  return found == originals().end() ? entry : found->second;
}

}  // namespace rlscope
