// What a test can make the libcuda of our own do.
#pragma once
#include <cuda.h>

extern "C" {

// What cuDeviceGetCount says: CUDA_ERROR_NOT_INITIALIZED as long as nobody has called cuInit.
void fake_driver_set_state(CUresult state);
void fake_driver_set_version(int version);
}
