"""Planar robots with contact: MuJoCo's models in one CUDA kernel, in C++ and in XLA, by the same equations."""
