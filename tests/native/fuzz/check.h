// Ends the program where something does not hold, so that the fuzzer keeps the input.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}
