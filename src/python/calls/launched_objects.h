// Objects whose values native code computes after the call that made them has returned.
#pragma once
#include <Python.h>

#include <cstdint>

#include "acting_calls.h"
#include "session.h"

namespace rlscope {

struct Launch {
  Place place;
  uint64_t number;  // so many came before it
  Origin origin;
};

// Of an object of a type that is followed, if anything is known of it.
const Launch* launch_of(PyObject* object);

// Adds `follow_launched` and `intercept_awaiting` to the module. False with a Python exception set on failure.
bool add_launched_objects(PyObject* module);

}  // namespace rlscope
