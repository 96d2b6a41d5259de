// Trampolines: each stands in for one C function and records its calls.
#pragma once
#include <Python.h>

#include "trace_format.h"

namespace rlscope {

// Replaces the function pointer at `where`, taking `arguments` (2 to 5) pointer arguments, by a trampoline that records
// a crossing named `name`. `owner` is kept alive. False where all trampolines are taken.
bool swap_for_trampoline(void** where, int arguments, Category category, const char* name, PyObject* owner);

// Lets the functions that were called so far be called directly, as if nobody recorded; ends that.
void pass_by_trampolines();
void use_trampolines();

// How many functions can be recorded.
constexpr unsigned kTrampolines = 14336;

}  // namespace rlscope
