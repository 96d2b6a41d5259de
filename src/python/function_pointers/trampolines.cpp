// Trampolines made by the assembler, so no code is made at run time: each asks whether there is anything to do, which
// there is not between windows, and jumps to its function. Else it jumps to a common routine, with its number in a register
// that holds no argument.
#include "trampolines.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "pointer_swaps.h"
#include "requests.h"
#include "session.h"

namespace rlscope {
namespace {

// All that runs lies close together, by sections of the linker's; so do the trampolines of functions that are called, in
// the order of their first call: a page that is not among those that the processor knows costs more than what is done there.
#define TRAMPOLINE_COUNT 14848  // PyTorch 2.13 needs 2,600
#define TRAMPOLINE_BYTES 48
#define SLOT_BYTES 24
#define GATE_PAGE 4096
constexpr uint32_t kHot = 512;  // of these, kept for functions that are called
static_assert(TRAMPOLINE_COUNT - kHot == kTrampolines);
static_assert(GATE_PAGE == offsetof(Gate, quiet) && offsetof(Gate, shared) == 0 && offsetof(SharedPage, asked) == 0);

struct Slot {
  void* quiet;  // where the trampoline jumps to if there is nothing to do: the function, once it was called; else as below
  void* busy;   // where it jumps to else: what makes calls with so many arguments
  uint32_t coded_id;  // 0 until the first call
  uint32_t id_bytes;
};
static_assert(sizeof(Slot) == SLOT_BYTES && offsetof(Slot, busy) == 8);

struct SlotInfo {
  void** where = nullptr;
  void* original = nullptr;
  std::string name;
  Category category = Category::kPython;
};

SlotInfo infos[TRAMPOLINE_COUNT];
uint32_t used = kHot;
uint32_t used_hot;
uint32_t passed_by;  // the first so many of the hot ones are not in use for now

#define QUOTED(text) #text
#define AS_TEXT(macro) QUOTED(macro)
extern "C" {
extern char rlscope_trampolines[];
__attribute__((used, visibility("hidden"), aligned(64))) Slot rlscope_slots[TRAMPOLINE_COUNT];
}
asm(".section .text.sorted.0, \"ax\"\n.p2align 6\n.hidden rlscope_trampolines\n.globl rlscope_trampolines\nrlscope_trampolines:\n"
    ".set i,0\n.rept " AS_TEXT(TRAMPOLINE_COUNT) "\n.p2align 4\nendbr64\nmovl $i, %r11d\n"
    "movq rlscope_gate@GOTPCREL(%rip), %rax\nmovl (%rax), %r10d\ncmpl " AS_TEXT(GATE_PAGE) "(%rax), %r10d\njne 1f\n"
    "jmp *rlscope_slots+" AS_TEXT(SLOT_BYTES) "*i(%rip)\n1: jmp *rlscope_slots+8+" AS_TEXT(SLOT_BYTES) "*i(%rip)\n"
    ".set i,i+1\n.endr\n.p2align 4\n.text\n");

void* trampoline(uint32_t index) { return rlscope_trampolines + index * TRAMPOLINE_BYTES; }

bool is_ours(void* pointer) {
  return pointer >= rlscope_trampolines && pointer < trampoline(TRAMPOLINE_COUNT);
}

// The trampolines that pointers had, which they get again in a later recording.
std::unordered_map<void**, uint32_t>& known_slots() {
  static auto* known = new std::unordered_map<void**, uint32_t>;
  return *known;
}

// First call: gives the name its id, and the function a place among those that are called.
__attribute__((noinline, cold)) void intern(uint32_t index) {
  SlotInfo& info = infos[index];
  Slot& slot = rlscope_slots[index];
  CodedId id = Session::intern(NameKind::kBoundary, info.category, info.name);
  slot = {info.original, slot.busy, id.coded, id.bytes};
  if (index >= kHot && used_hot < kHot && is_ours(*info.where)) {
    uint32_t hot = used_hot++;
    rlscope_slots[hot] = slot;
    infos[hot] = info;
    known_slots()[info.where] = hot;
    change_replacement(info.where, trampoline(hot));
  }
}

template <class... Arguments>
PyObject* call_original(const Slot& slot, Arguments... arguments) {
  return reinterpret_cast<PyObject* (*)(Arguments...)>(slot.quiet)(arguments...);
}

template <bool kWaits, class... Arguments>
PyObject* record(uint32_t index, Arguments... arguments);

// Where it is not known yet whether the call is recorded, or what to jump to if it is not.
template <bool kWaits, class... Arguments>
__attribute__((noinline, cold)) PyObject* ask(uint32_t index, Arguments... arguments) {
  StreamWriter* writer = Session::recording_writer();
  if (rlscope_slots[index].coded_id == 0) intern(index);
  bool is_recorded = writer && rlscope_slots[index].coded_id != 0;  // which it stays if there is no memory for a name
  return is_recorded ? record<kWaits>(index, arguments...) : call_original(rlscope_slots[index], arguments...);
}

// Not noexcept and without destructors: a daemon thread that sits in the original while the interpreter ends unwinds
// through here.
template <bool kWaits, class... Arguments>
__attribute__((flatten)) inline PyObject* record(uint32_t index, Arguments... arguments) {
  const Slot& slot = rlscope_slots[index];
  StreamWriter* writer = t_writer;
  if (__builtin_expect(!writer || !writer->is_recording() || slot.coded_id == 0, 0)) return ask<kWaits>(index, arguments...);
  uint32_t depth = writer->depth();
  if (!writer->begin(slot.coded_id >> slot.id_bytes, slot.coded_id, slot.id_bytes)) return call_original(slot, arguments...);
  if (kWaits) writer->begin_wait();
  PyObject* result = call_original(slot, arguments...);
  if (__builtin_expect(t_writer == writer, 1)) writer->end_to(depth);  // differs in a child forked off inside
  return result;
}

}  // namespace

// The first argument register that the C signature leaves free gets the number of the trampoline.
#define CROSSING(count, reg)                                                                                    \
  asm(".section .text.hot, \"ax\"\n.hidden rlscope_enter_" #count "\n.globl rlscope_enter_" #count                  \
      "\nrlscope_enter_" #count ": movl %r11d, %" #reg "\njmp rlscope_cross_" #count "\n.text\n");                \
  extern "C" char rlscope_enter_##count[];                                                                      \
  extern "C" __attribute__((used, visibility("hidden"), hot)) PyObject* rlscope_cross_##count
CROSSING(2, edx)(void* a, void* b, uint32_t index) { return record<false>(index, a, b); }
CROSSING(3, ecx)(void* a, void* b, void* c, uint32_t index) { return record<false>(index, a, b, c); }
CROSSING(4, r8d)(void* a, void* b, void* c, void* d, uint32_t index) { return record<false>(index, a, b, c, d); }
CROSSING(5, r9d)(void* a, void* b, void* c, void* d, void* e, uint32_t index) { return record<false>(index, a, b, c, d, e); }
CROSSING(wait_2, edx)(void* a, void* b, uint32_t index) { return record<true>(index, a, b); }
CROSSING(wait_3, ecx)(void* a, void* b, void* c, uint32_t index) { return record<true>(index, a, b, c); }
CROSSING(wait_4, r8d)(void* a, void* b, void* c, void* d, uint32_t index) { return record<true>(index, a, b, c, d); }
CROSSING(wait_5, r9d)(void* a, void* b, void* c, void* d, void* e, uint32_t index) { return record<true>(index, a, b, c, d, e); }

bool swap_for_trampoline(void** where, int arguments, Category category, const char* name, PyObject* owner) {
  char* const working[] = {rlscope_enter_2, rlscope_enter_3, rlscope_enter_4, rlscope_enter_5};
  char* const waiting[] = {rlscope_enter_wait_2, rlscope_enter_wait_3, rlscope_enter_wait_4, rlscope_enter_wait_5};
  char* const* enter = category == Category::kWait ? waiting : working;
  if (is_swapped(where)) return true;
  auto known = known_slots().find(where);
  uint32_t index = known == known_slots().end() ? used : known->second;
  if (index == TRAMPOLINE_COUNT) return false;
  Slot& slot = rlscope_slots[index];
  if (index == used) {
    used++;
    known_slots()[where] = index;
    slot = {enter[arguments - 2], enter[arguments - 2], 0, 0};
    infos[index] = {where, *where, name, category};
  } else {
    infos[index].original = *where;
    if (slot.coded_id != 0) slot.quiet = *where;
    owner = nullptr;  // alive since the first time
  }
  swap_pointer(where, trampoline(index), owner);
  return true;
}

void pass_by_trampolines() {
  for (; passed_by < used_hot; passed_by++) set_aside(infos[passed_by].where);
}

void use_trampolines() {
  while (passed_by > 0) swap_again(infos[--passed_by].where);
}

}  // namespace rlscope
