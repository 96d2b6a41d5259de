"""Shapes that classes of environments have in real programs, one line each, which must not depend on recording.

The only argument is the library whose environments they are: gymnasium, gym, pettingzoo.
"""

import asyncio
import copy
import functools
import inspect
import io
import pickle
import pydoc
import sys
import traceback
import typing
import warnings
from unittest import mock

warnings.simplefilter("ignore")
if sys.argv[1] == "gymnasium":
    import gymnasium as library
elif sys.argv[1] == "gym":
    import gym as library
else:
    import pettingzoo as library

Environment = library.ParallelEnv if sys.argv[1] == "pettingzoo" else library.Env
SHAPES = []


def shape(function):
    SHAPES.append(function)
    return function


class Base(Environment):
    """What they share."""


class Steps:
    """A mixin that is no environment."""

    def step(self, action):
        return "mixed in", action


class MoreSteps(Steps):
    def step(self, action):
        return "more", super().step(action)


class Stepped(Base):
    """At module level, so that it can be pickled."""

    def reset(self):
        return "reset"

    def step(self, action: int = 3, *, flag: bool = True) -> int:
        """Steps."""
        return action

    def fail(self, action):
        raise ValueError(action)


class Mixed(Steps, Base):
    pass


class Diamond(Mixed, MoreSteps):
    pass


@shape
def asynchronous():
    class Async(Base):
        async def reset(self, **_):
            return 0, {}

        async def step(self, action):
            await asyncio.sleep(0)
            return action, 0.0, False, False, {}

    async def run():
        environment = Async()
        return await environment.reset(), await environment.step(3)

    return asyncio.run(run()), inspect.iscoroutinefunction(Async.step), Async.step.__code__.co_varnames


@shape
def generator_render():
    class Frames(Base):
        def render(self):
            yield 1
            yield 2

    return list(Frames().render()), inspect.isgeneratorfunction(Frames.render)


@shape
def asynchronous_generator():
    class Frames(Base):
        async def render(self):
            yield 1

    async def run():
        return [frame async for frame in Frames().render()]

    return asyncio.run(run())


@shape
def callable_object():
    class Called:
        def __call__(self, action):
            return "got", action

    return type("E", (Base,), {"step": Called()})().step(1)


@shape
def partial():  # a method since Python 3.14, which is given the environment, too
    return type("E", (Base,), {"step": functools.partial(lambda x, *rest: (x, rest[-1]), 5)})().step(1)


@shape
def partial_method():
    class Partial(Base):
        def move(self, distance, action):
            return distance, action

        step = functools.partialmethod(move, 7)

    return Partial().step(1)


@shape
def static():
    made = type("E", (Base,), {"step": staticmethod(lambda action: action)})
    return made().step(1), made.step(2)


@shape
def class_method():
    made = type("E", (Base,), {"reset": classmethod(lambda cls: cls.__name__)})
    return made().reset(), made.reset(), made.reset.__self__ is made


@shape
def mocked():
    made = type("E", (Base,), {"step": mock.Mock(return_value=1)})
    return made().step(4), made.step.call_args, made.step.assert_called_once_with(4)


@shape
def patched():
    with mock.patch.object(Stepped, "step", autospec=True, return_value=9) as step:
        return Stepped().step(4), step.call_args[0][1:], len(step.mock_calls)


@shape
def patched_and_put_back():
    before = Stepped.step
    with mock.patch.object(Stepped, "step"):
        pass
    return Stepped.step is before, Stepped().step(5)


@shape
def specified():
    return str(inspect.signature(mock.create_autospec(Stepped).step))


@shape
def cached():
    class Cached(Base):
        @functools.lru_cache  # noqa: B019
        def step(self, action):
            return action

    environment = Cached()
    environment.step(1)
    environment.step(1)
    return Cached.step.cache_info(), Cached.step.__wrapped__.__name__


@shape
def cached_property():
    class Cached(Base):
        @functools.cached_property
        def step(self):
            return lambda action: ("made once", action)

    return Cached().step(2)


@shape
def property_step():
    return type("E", (Base,), {"step": property(lambda self: lambda action: action)})().step(2)


@shape
def dispatched():
    class Dispatched(Base):
        @functools.singledispatchmethod
        def step(self, action):
            return "anything"

        @step.register
        def _(self, action: int):
            return "int"

    return Dispatched().step(1), Dispatched().step("a")


@shape
def introspection():
    step = Stepped.step
    return (
        inspect.getfullargspec(step),
        inspect.signature(step),
        inspect.getsource(step),
        inspect.isfunction(step),
        inspect.isroutine(step),
        inspect.unwrap(step) is step,
        [name for name, _ in inspect.getmembers(Stepped, inspect.isfunction)],
        typing.get_type_hints(step),
        step.__name__, step.__qualname__, step.__module__, step.__doc__, step.__defaults__, step.__kwdefaults__,
        step.__code__.co_varnames, step.__code__.co_name, step.__closure__, sorted(vars(step)),
        step.__globals__ is globals(), hasattr(step, "__wrapped__"),
        Stepped.__dict__["step"] is step,
        repr(step).rpartition(" at ")[0],
    )  # fmt: skip


@shape
def bound():
    environment = Stepped()
    step = environment.step
    return (
        inspect.ismethod(step), type(step).__name__, step.__func__ is Stepped.step, step.__self__ is environment,
        step == environment.step, hash(step) == hash(environment.step), inspect.getfullargspec(step).args,
        str(inspect.signature(step)), step.__code__.co_name, repr(step).partition(" of ")[0],
    )  # fmt: skip


@shape
def attributes():
    Stepped.step.tag = "mine"
    found = Stepped.step.tag, Stepped().step.tag, vars(Stepped.step)
    found = *found[:2], dict(found[2])
    del Stepped.step.tag
    return found, hasattr(Stepped.step, "tag"), getattr(Stepped.step, "missing", "none")


@shape
def defaults_set():
    class Set(Base):
        def step(self, action=1):
            return action

    Set.step.__defaults__ = (8,)
    return Set().step()


@shape
def pickled():
    again = pickle.loads(pickle.dumps(Stepped.step))
    method = pickle.loads(pickle.dumps(Stepped().step))
    return again is Stepped.step, method(4), copy.deepcopy(Stepped.step) is Stepped.step, Mixed.step is Steps.step


@shape
def documented():
    return pydoc.plain(pydoc.render_doc(Stepped))


@shape
def slots():
    class Slots(Base):
        __slots__ = ("x",)

        def step(self, action):
            self.x = action
            return self.x

    return Slots().step(3)


@shape
def keyword_subclass():
    class Tagged(Base):
        def __init_subclass__(cls, tag=None, **options):
            super().__init_subclass__(**options)
            cls.tag = tag

    class Made(Tagged, tag="t"):
        def step(self, action):
            return action

    return Made.tag, Made().step(1)


@shape
def later():
    made = type("E", (Base,), {})
    made.step = lambda self, action: ("later", action)
    return made().step(1)


@shape
def instance():
    environment = type("E", (Base,), {})()
    environment.step = lambda action: ("own", action)
    return environment.step(1)


@shape
def mixin():
    return Mixed().step(1), Mixed.step(Mixed(), 2), Mixed.step.__qualname__, Mixed().step.__func__.__qualname__


@shape
def diamond():
    return Diamond().step(1), Diamond.step is MoreSteps.step


@shape
def mixin_replaced_later():
    with mock.patch.object(Steps, "step", lambda self, action: ("replaced", action)):
        return Mixed().step(1)


@shape
def shared():
    class Other(Base):
        step = Stepped.step

    return Other().step(6), Other.step is Stepped.step


@shape
def by_class():
    class Outer(Stepped):
        def step(self, action):
            return Stepped.step(self, action) + super().step(action)

    return Outer().step(4)


@shape
def trace():
    class Failing(Stepped):
        def reset(self):
            return self.step("no number")

        def step(self, action):
            return self.fail(action)

    try:
        Failing().reset()
    except ValueError:
        return traceback.format_exc()


@shape
def trace_of_a_mixin():
    class Failing(Base):
        pass

    class FailingSteps:
        def step(self, action):
            return 1 / action

    class Both(FailingSteps, Failing):
        pass

    try:
        Both().step(0)
    except ZeroDivisionError as error:
        return traceback.format_exc(), [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@shape
def wrong_arguments():
    try:
        Stepped().step(1, 2, 3)
    except TypeError as error:
        return str(error), traceback.format_exc()


@shape
def callers():
    class Looking(Base):
        def step(self, action):
            return [frame.function for frame in inspect.stack()[:3]], sys._getframe(1).f_code.co_name

    return Looking().step(1)


@shape
def warned():
    class Warning_(Base):
        def step(self, action):
            warnings.warn("deprecated", DeprecationWarning, stacklevel=2)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Warning_().step(1)
    return [(warning.filename == __file__, warning.lineno - callers.__code__.co_firstlineno) for warning in caught]


@shape
def slot_method():
    class Callable_(Base):
        def __call__(self, action):
            return self.step(action)

        def step(self, action):
            return "called", action

    return Callable_()(3)


for each in SHAPES:
    try:
        printed = io.StringIO()
        print(each.__name__, each(), file=printed)
    except BaseException as error:
        printed.write(f"{each.__name__} raised {type(error).__name__} {error}\n")
    print(printed.getvalue(), end="")
