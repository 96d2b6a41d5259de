// When the sample of each task was begun, and for how long it was worked on.
#pragma once
#include <Python.h>

#include <cstdint>

#include "stream_writer.h"

namespace rlscope {

// `root` is the coroutine or generator that makes the sample. An operation of it begins: the sample's first one, perhaps.
void begin_in_sample(PyObject* root, uint64_t now);
// An operation of it that enclosed no other was open.
void work_in_sample(PyObject* root, uint64_t opened, uint64_t now);
// The sample is complete, and the next operation begins another one. Fills in its ticks, where they are known.
void end_sample(PyObject* root, uint64_t now, SampleNumbers& sample);
void forget_samples();
// In a forked child, where the parent's map may be half changed: touches no Python object.
void abandon_samples();

}  // namespace rlscope
