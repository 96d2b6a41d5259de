// What librlscope.so exports; all else in it is hidden.
#pragma once

#define RLSCOPE_API __attribute__((visibility("default")))
