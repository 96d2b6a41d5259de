"""The CUDA kernels of CartPole and of robots compile for three generations of GPUs with nothing but NVRTC, and need no
GPU for it.
"""

import pytest

cupy = pytest.importorskip("cupy", reason="needs CuPy and NVRTC: pip install cupy-cuda13x nvidia-cuda-nvrtc")

from cartpole.cuda import COLLECT, OPTIONS, SIMULATE, Kernel, source  # noqa: E402
from cupy.cuda import nvrtc  # noqa: E402
from robots import cuda as robots  # noqa: E402

KERNELS = [
    Kernel("begin", "", 256),
    *(Kernel("simulate", f"{math}, {parts}", 256) for math in SIMULATE.values() for parts in (1, 4, 1024)),
    *(
        Kernel(name, f"{math}, {writes}" if math else writes, threads, shared_bytes)
        for name, math, threads, shared_bytes in COLLECT.values()
        for writes in ("false", "true")
    ),
]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_every_kernel_compiles(architecture: str) -> None:
    check(source(), [kernel.expression for kernel in KERNELS], (*OPTIONS, f"-arch={architecture}"))
    kernels = ("simulate", "take_steps", *robots.COLLECT.values())
    expressions = [f"robots::{kernel}<robots::Hopper>" for kernel in kernels]
    check(robots.kernels_of("Hopper"), expressions, (*robots.ROBOT_OPTIONS, f"-arch={architecture}"))


def check(code: str, expressions: list[str], options: tuple[str, ...]) -> None:
    program = nvrtc.createProgram(code, "kernels.cu", [], [])
    for expression in expressions:
        nvrtc.addNameExpression(program, expression)
    nvrtc.compileProgram(program, options)
    assert all(nvrtc.getLoweredName(program, expression) for expression in expressions)
    assert nvrtc.getCUBIN(program)
