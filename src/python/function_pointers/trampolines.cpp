// Trampolines made by the assembler: each puts its number into the first argument register that the C signature leaves
// free and jumps to a common routine, so no code is made at run time.
#include "trampolines.h"

#include <cstdint>
#include <string>
#include <unordered_map>

#include "pointer_swaps.h"
#include "session.h"

namespace rlscope {
namespace {

#define TRAMPOLINE_COUNT 4096  // per argument count; PyTorch 2.13 needs 1,770 of the three-argument family
constexpr uint32_t kTrampolines = TRAMPOLINE_COUNT;
constexpr uint32_t kHot = 512;  // of these, kept for functions in the order of their first call
static_assert(kTrampolines - kHot == kTrampolinesPerConvention);
constexpr uint32_t kTrampolineBytes = 16;
constexpr int kFamilies = 4;

// What the hot path reads, 16 bytes: functions that are called lie side by side.
struct Slot {
  void* original;
  uint32_t coded_id;
  uint32_t id_bytes;
};

struct SlotInfo {
  void** where = nullptr;
  std::string name;
  Category category = Category::kPython;
};

Slot slots[kFamilies][kTrampolines] __attribute__((aligned(64)));
SlotInfo infos[kFamilies][kTrampolines];
uint32_t used[kFamilies] = {kHot, kHot, kHot, kHot};
uint32_t used_hot[kFamilies];

#define AS_TEXT(macro) #macro
#define TRAMPOLINES(family, reg, count)                                                                      \
  asm(".text\n.p2align 4\n.hidden rlscope_trampolines_" #family "\n.globl rlscope_trampolines_" #family      \
      "\nrlscope_trampolines_" #family ":\n.set i,0\n.rept " AS_TEXT(count) "\n.p2align 4\nendbr64\nmovl $i, %" \
      #reg "\njmp rlscope_cross_" #family "\n.set i,i+1\n.endr\n");                                         \
  extern "C" char rlscope_trampolines_##family[];
TRAMPOLINES(2, edx, TRAMPOLINE_COUNT)
TRAMPOLINES(3, ecx, TRAMPOLINE_COUNT)
TRAMPOLINES(4, r8d, TRAMPOLINE_COUNT)
TRAMPOLINES(5, r9d, TRAMPOLINE_COUNT)
char* const trampolines[kFamilies] = {rlscope_trampolines_2, rlscope_trampolines_3, rlscope_trampolines_4,
                                      rlscope_trampolines_5};

void* trampoline(int family, uint32_t index) { return trampolines[family] + index * kTrampolineBytes; }

bool is_ours(int family, void* pointer) {
  return pointer >= trampolines[family] && pointer < trampolines[family] + kTrampolines * kTrampolineBytes;
}

// First call: gives the name its id, and the function a place among those that are called.
__attribute__((noinline, cold)) void intern(int family, uint32_t index) {
  SlotInfo& info = infos[family][index];
  Slot& slot = slots[family][index];
  CodedId id = Session::intern(NameKind::kBoundary, info.category, info.name);
  slot.coded_id = id.coded;
  slot.id_bytes = id.bytes;
  if (index >= kHot && used_hot[family] < kHot && is_ours(family, *info.where)) {
    uint32_t hot = used_hot[family]++;
    slots[family][hot] = slot;
    infos[family][hot] = info;
    change_replacement(info.where, trampoline(family, hot));
  }
}

// Not noexcept and without destructors: a daemon thread that sits in the original while the interpreter ends unwinds
// through here.
template <int family, class... Arguments>
__attribute__((noinline, flatten)) PyObject* record(Arguments... arguments, uint32_t index) {
  const Slot& slot = slots[family][index];
  auto original = reinterpret_cast<PyObject* (*)(Arguments...)>(slot.original);
  StreamWriter* writer = t_writer;
  if (__builtin_expect(slot.coded_id == 0, 0)) intern(family, index);
  uint32_t depth = writer->depth();
  if (!writer->begin(slot.coded_id >> slot.id_bytes, slot.coded_id, slot.id_bytes)) return original(arguments...);
  PyObject* result = original(arguments...);
  if (__builtin_expect(t_writer == writer, 1)) writer->end_to(depth);  // differs in a child forked off inside
  return result;
}

// There may be something to do before it is known whether the call is recorded.
template <int family, class... Arguments>
__attribute__((noinline, cold)) PyObject* ask(Arguments... arguments, uint32_t index) {
  if (Session::recording_writer()) return record<family, Arguments...>(arguments..., index);
  return reinterpret_cast<PyObject* (*)(Arguments...)>(slots[family][index].original)(arguments...);
}

// Jumps, with the arguments where they are: between windows it is all that RL-Scope adds to a call.
template <int family, class... Arguments>
inline PyObject* cross(uint32_t index, Arguments... arguments) {
  StreamWriter* writer = t_writer;
  if (__builtin_expect(writer && writer->is_recording(), 1)) return record<family, Arguments...>(arguments..., index);
  if (__builtin_expect(Session::may_record(), 0)) return ask<family, Arguments...>(arguments..., index);
  return reinterpret_cast<PyObject* (*)(Arguments...)>(slots[family][index].original)(arguments...);
}

// The trampolines that pointers had, which they get again in a later recording.
std::unordered_map<void**, uint32_t>& known_slots() {
  static auto* known = new std::unordered_map<void**, uint32_t>;
  return *known;
}

}  // namespace

#define CROSSING(family) extern "C" __attribute__((used, visibility("hidden"))) PyObject* rlscope_cross_##family
CROSSING(2)(void* a, void* b, uint32_t index) { return cross<0>(index, a, b); }
CROSSING(3)(void* a, void* b, void* c, uint32_t index) { return cross<1>(index, a, b, c); }
CROSSING(4)(void* a, void* b, void* c, void* d, uint32_t index) { return cross<2>(index, a, b, c, d); }
CROSSING(5)(void* a, void* b, void* c, void* d, void* e, uint32_t index) { return cross<3>(index, a, b, c, d, e); }

bool swap_for_trampoline(void** where, int arguments, Category category, const char* name, PyObject* owner) {
  int family = arguments - 2;
  if (is_swapped(where)) return true;
  auto known = known_slots().find(where);
  uint32_t index;
  if (known != known_slots().end()) {
    index = known->second;
    slots[family][index].original = *where;
    owner = nullptr;  // alive since the first time
  } else {
    if (used[family] >= kTrampolines) return false;
    index = used[family]++;
    known_slots()[where] = index;
    slots[family][index] = {*where, 0, 0};
    infos[family][index] = {where, name, category};
  }
  swap_pointer(where, trampoline(family, index), owner);
  return true;
}

}  // namespace rlscope
