// Included before every source of the guard: the time-stamp counter is a variable, so each run records the same times.
#pragma once
#include <x86intrin.h>

#include <cstdint>

extern uint64_t g_fixed_tsc;
inline uint64_t fixed_tsc() { return g_fixed_tsc; }

#define __rdtsc fixed_tsc
