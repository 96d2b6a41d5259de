"""Prints digests of classes, functions and methods of this script, as cloudpickle and pickle store them."""

import contextlib
import hashlib
import itertools
import pickle
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import cloudpickle
import gymnasium

# cloudpickle gives each class an id, by which it knows it again; here the same ones in each run.
numbers = itertools.count()
uuid.uuid4 = lambda: uuid.UUID(int=next(numbers))


class Steps:
    def step(self, action: Any) -> Any:
        return action


class Mixed(Steps, gymnasium.Env[Any, Any]):
    pass


class MixedByLibrary(gymnasium.utils.RecordConstructorArgs, gymnasium.Env[Any, Any]):
    def reset(self, **options: Any) -> Any:
        return super().reset(**options)


class Own(gymnasium.Env[Any, Any]):
    def step(self, action: Any) -> Any:
        return action


class Below(Own):
    pass


class Shared(gymnasium.Env[Any, Any]):
    step = Own.step


class Static(gymnasium.Env[Any, Any]):
    @staticmethod
    def step(action: Any) -> Any:  # type: ignore[override]
        return action


class OfClass(gymnasium.Env[Any, Any]):
    @classmethod
    def step(cls, action: Any) -> Any:  # type: ignore[override]
        return action


class Game:
    def walk(self, action: Any) -> Any:
        return action

    def frames(self) -> Iterator[int]:
        yield 1

    async def wait(self) -> int:
        return 1


class BelowGame(Steps, Game):
    def walk(self, action: Any) -> Any:
        return super().walk(action)


class Timer:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> "Timer":
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Timers:
    @contextlib.contextmanager
    def timed(self, name: str) -> Iterator[None]:
        yield


def uses() -> Any:
    return Own, Own.step, Mixed, Mixed().step


assert Mixed().step(1) == BelowGame().walk(1) == BelowGame().step(1) == 1
assert list(Game().frames()) == [1]
with Timer("walk") as timer, Timers().timed("walk"):
    pass
things = {
    **{cls.__name__: cls for cls in (Mixed, MixedByLibrary, Own, Below, Shared, Static, OfClass)},
    **{cls.__name__: cls for cls in (Game, BelowGame, Timer, Timers)},
    "instances": [Mixed(), Own(), BelowGame(), timer, gymnasium.make("CartPole-v1").unwrapped.action_space],
    "functions": [Own.step, Game.walk, Game.frames, Game.wait, Timers.timed, uses, gymnasium.Env.step],
    "methods": [Own().step, Mixed().step, Game().walk, BelowGame().walk, BelowGame().step, Timers().timed],
}
for name, thing in things.items():
    stored = cloudpickle.dumps(thing)
    print(name, len(stored), hashlib.sha256(stored).hexdigest())
    if "rlscope" in sys.modules:
        assert b"rlscope" not in stored, name
for value in (Own, Own.step, Mixed().step, Game.walk, Game().walk, timer):
    print(hashlib.sha256(pickle.dumps(value)).hexdigest())
