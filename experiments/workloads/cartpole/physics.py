"""This file holds CartPole's motion and ends as in Gymnasium's `CartPole-v1`, for arrays of any Python library."""

import math
from typing import Any

GRAVITY = 9.8
POLE_MASS = 0.1
TOTAL_MASS = 1.0 + POLE_MASS
#: Of the pole.
HALF_LENGTH = 0.5
#: What an action pushes the cart with, to either side.
FORCE = 10.0
#: Seconds in a step.
STEP_S = 0.02
#: An episode ends where the cart is further from the middle, or the pole further from upright, than this.
MOST_POSITION = 2.4
MOST_ANGLE = math.radians(12)


def moved(library: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
    """Return one Euler step.

    Args:
        library: has `sin` and `cos` for such arrays: torch or jax.numpy.
        state: position (m), speed (m/s), angle (rad) and angular speed (rad/s) of each environment, four arrays or one
            whose first axis has length 4.
        action: 0 pushes to the left, 1 to the right.

    Returns:
        The next state's four arrays.
    """
    position, speed, angle, turning = state
    sine, cosine = library.sin(angle), library.cos(angle)
    force = FORCE * (2 * action - 1)
    push = (force + POLE_MASS * HALF_LENGTH * turning * turning * sine) / TOTAL_MASS
    angular = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE_MASS * cosine * cosine / TOTAL_MASS))
    linear = push - POLE_MASS * HALF_LENGTH * angular * cosine / TOTAL_MASS
    return (
        position + STEP_S * speed,
        speed + STEP_S * linear,
        angle + STEP_S * turning,
        turning + STEP_S * angular,
    )


def has_failed(position: Any, angle: Any) -> Any:
    """Return whether the episode ends there.

    What is not a number is neither too small nor too large, so such an episode goes on until it is cut off: these are
    Gymnasium's comparisons, and this is what it does.
    """
    return (position < -MOST_POSITION) | (position > MOST_POSITION) | (angle < -MOST_ANGLE) | (angle > MOST_ANGLE)
