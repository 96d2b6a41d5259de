"""Two greenlets whose operations overlap without nesting; prints how often each has called the simulator, as JSON."""

import json
from collections import Counter

import greenlet

import rlscope
from rlscope import _native

CALL = _native.simulator_call("step")
calls: Counter[str] = Counter()
told: list[str] = []


def call(operation: str, times: int) -> None:
    for _ in range(times):
        with CALL:
            calls[operation] += 1


def use_tool() -> None:
    with rlscope.operation("tool"):
        call("tool", 3)
        learner.switch()
        call("tool", 5)


def learn() -> None:
    with rlscope.operation("learn"):
        call("learn", 7)
        user.switch()
        call("learn", 11)


user, learner = greenlet.greenlet(use_tool), greenlet.greenlet(learn)
with rlscope.operation("all"):
    user.switch()
    call("all", 13)
    greenlet.settrace(lambda event, _: told.append(event))
    learner.switch()
    call("all", 17)
greenlet.settrace(None)
call("(none)", 19)
print(json.dumps({"calls": calls, "told": told, "tracer": greenlet.gettrace()}))
