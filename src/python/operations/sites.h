// Tells the places of a program apart from which something is called.
#pragma once
#include <Python.h>

#include <cstdint>

#include "python_frames.h"

namespace rlscope {

// A number made of two others.
uint64_t mix(uint64_t number, uint64_t more);

// A number made of where `frame` and its callers are. Two sites with one number are as rare as in any 64-bit hash.
uint64_t site_of(PythonFrame* frame);

}  // namespace rlscope
