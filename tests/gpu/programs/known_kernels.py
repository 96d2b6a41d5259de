"""Kernels of which one knows how well they use a GPU, each in an operation of its own.

    python known_kernels.py --seconds 0.5
    python known_kernels.py --launches 2

Spinning kernels of 2 ms fill a part of the processors with a part of the threads; one copies memory, one multiplies
matrices.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch

import rlscope

#: Kernel: blocks per processor and threads in a block, of a device that holds 2048 threads on each.
SPINNING = {"one_warp": (0.0, 32), "quarter_of_processors": (0.25, 1024), "half_full": (1.0, 1024), "full": (2.0, 1024)}
CYCLES = 4_000_000
SOURCE = """
extern "C" __global__ void {name}(long long cycles) {{
    long long start = clock64();
    while (clock64() - start < cycles) {{}}
}}
"""
COPY = """
extern "C" __global__ void copy_memory(const float4* from, float4* to, long long count) {
    long long step = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}
"""


def launchers() -> dict[str, Callable[[], object]]:
    """What launches each kernel once."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    found: dict[str, Callable[[], object]] = {}
    for name, (share, threads) in SPINNING.items():
        kernel = torch.cuda._compile_kernel(SOURCE.format(name=name), name)
        grid = (max(int(share * processors), 1), 1, 1)
        found[name] = lambda kernel=kernel, grid=grid, threads=threads: kernel(
            grid=grid, block=(threads, 1, 1), args=(CYCLES,)
        )
    copy = torch.cuda._compile_kernel(COPY, "copy_memory")
    source, target = (torch.zeros(1 << 28, device="cuda") for _ in range(2))
    found["copy_memory"] = lambda: copy(
        grid=(4 * processors, 1, 1), block=(1024, 1, 1), args=(source, target, source.numel() // 4)
    )
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    found["matrix_product"] = lambda: matrix @ matrix
    return found


def main() -> None:
    """Prints how often each was launched."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0, help="to launch each kernel for")
    parser.add_argument("--launches", type=int, default=1, help="of each kernel at least")
    options = parser.parse_args()
    launched = {}
    for name, launch in launchers().items():
        launch()
        torch.cuda.synchronize()
        with rlscope.operation(name):
            end_s = time.monotonic() + options.seconds
            count = 0
            while count < options.launches or time.monotonic() < end_s:
                launch()
                count += 1
                if count % 8 == 0:
                    torch.cuda.synchronize()
            torch.cuda.synchronize()
        launched[name] = count
    print(json.dumps(launched))


if __name__ == "__main__":
    main()
