"""This file finds what a device can do at most, and how many steps of CartPole that would be: the limits in figures.

The rates were measured on the device itself, by loops of nothing else; they are not those of its data sheet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

#: Of the policy of 4-64-64-2 per step: a multiplication and an addition for each weight, and tanh of each hidden unit.
FLOATING_POINT_OPERATIONS = 2 * (4 * 64 + 64 * 64 + 64 * 2)
TANHS = 64 + 64


@dataclass(frozen=True)
class Rates:
    """Operations per second.

    Attributes:
        float32: arithmetic outside the matrix units.
        bfloat16: arithmetic of the matrix units.
        approximate_tanh: of the special function units, `tanh.approx.f32`.
        accurate_tanh: `tanhf`, which is computed.
    """

    float32: float
    bfloat16: float
    approximate_tanh: float
    accurate_tanh: float


#: By the name that the driver has for the device.
RATES = {"NVIDIA H200": Rates(67e12, 790e12, 4.17e12, 1.74e12)}


def inference_limits(device: str) -> Mapping[str, float]:
    """Return the steps per second that simulation and inference in one kernel cannot exceed, by what limits them.

    Args:
        device: its name.

    Returns:
        Nothing for a device whose rates are not known.
    """
    rates = RATES.get(device)
    if rates is None:
        return {}
    return {
        "float32 arithmetic": rates.float32 / FLOATING_POINT_OPERATIONS,
        "tanh.approx.f32": rates.approximate_tanh / TANHS,
        "matrix units' arithmetic": rates.bfloat16 / FLOATING_POINT_OPERATIONS,
    }
