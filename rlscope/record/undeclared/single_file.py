"""Scripts that train with PyTorch and no library: what is recorded of them without a name is what can be seen.

Seen are calls of networks, `backward`, `torch.autograd.grad`, `torch.func.grad` and an optimizer's `zero_grad` and
`step`. Each is recorded for its own length: a call of a network as inference, the others as backpropagation. What lies
between them, such as a rollout in an environment that no library knows, saving, plotting, belongs to no stage.

One thing reaches further, because a loss is computed between the network's call and `backward`. If gradients were on
and what a call computed was part of what the next `backward` went through, then the place in the program that made the
call opens backpropagation from the next time on, until the end of the optimizer's step. So in

    loss = (network(batch) - wanted).pow(2).mean()      # line 1
    loss.backward()                                     # line 2
    optimizer.step()                                    # line 3

line 1 is inference for the length of the call in the first turn, and the beginning of backpropagation in the second.
The same holds from `backward` on: it lasts to the step if a step came next the last time. A place that does otherwise
this time is closed at the next step of an environment, the next call of a network without gradients or from a place
that is not known to learn, and at its own next call; and a call that an environment's step followed was inference.
Places are told apart by the line, three callers and the network, so one method serves both purposes.

Actions are drawn from a distribution of what a network has just computed, as in `Categorical(logits=network(batch))`.
To make one of PyTorch's distributions from a tensor that a network's call has returned, or from a view of it, and to
call its methods, is recorded as the call is, until the environment steps or a backward begins. A distribution of
anything else, such as an environment's noise, belongs to no stage.

A place may be called several times for one backward, as a recurrent network's cell is. It learns if an environment is
known, which has not stepped in between, or if the same network acted since the last backward, without gradients. Else
it opens nothing, since a rollout in an environment that nobody knows looks the same: within an open backpropagation it
belongs to it. A new network is taken for what the last one was that was called from there.

A function that PyTorch's compiler has made of a network and of what is computed around it is a network here.

Between windows nothing of this is done, so that calls cost little. What places are is learnt in windows, and in a
process's first 100 steps of optimizers, or 100,000 calls of networks, so that its first window knows.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from rlscope import _native
from rlscope.record.replacements import Replacements
from rlscope.record.undeclared.counted_iterations import CountedIterations

#: What distributions are made and asked by.
OF_DISTRIBUTIONS = {"__init__", "sample", "rsample", "log_prob", "entropy"}
INFERENCE = _native.guessed_stage("inference")
BACKPROPAGATION = _native.guessed_stage("backpropagation")
#: Where that is certain.
LEARNING = _native.default_operation("backpropagation")


class SingleFileScripts:
    """Opens inference and backpropagation around what a script does between its steps."""

    def __init__(self, iterations: CountedIterations) -> None:
        self._iterations = iterations
        self._replacements = Replacements()
        self._handles: list[Any] = []
        self._is_compiling: Callable[[], bool] = bool

    def install(self, torch: ModuleType) -> None:
        """Follows what the script calls; never `forward`, which compilers read."""
        self._is_compiling = torch.compiler.is_compiling
        _native.follow_networks(
            torch.nn.Module.__call__, INFERENCE, BACKPROPAGATION,
            torch.is_grad_enabled, torch._C._current_graph_task_id, torch._C._autograd._get_sequence_nr,
        )  # fmt: skip
        kind = torch.distributions.Distribution
        for distribution in {each for each in vars(torch.distributions).values() if isinstance(each, type)}:
            for name in OF_DISTRIBUTIONS & vars(distribution).keys() if issubclass(distribution, kind) else ():
                self._replacements.replace(distribution, name, functools.partial(_followed_distribution, name))
        # The compiler leaves these alone; so it must leave alone what stands in their place. Once: that costs 5 us.
        self._replacements.replace(
            torch.optim.Optimizer,
            "zero_grad",
            lambda method: torch._disable_dynamo(_within_backpropagation(inspect.unwrap(method))),
        )
        # What `backward` and `torch.autograd.grad` call: compilers know both by their identity.
        self._replacements.replace(
            torch.autograd,
            "_engine_run_backward",
            lambda engine: _native.follow_backward(
                _native.Hooked(engine, ()), _reached, torch._disable_dynamo(_reached)
            ),
        )
        functional = sys.modules["torch._functorch.eager_transforms"]
        self._replacements.replace(functional, "grad_and_value_impl", self._followed_functional_grad)
        optimizer = sys.modules["torch.optim.optimizer"]  # torch.optim itself has no such attribute
        self._handles = [
            optimizer.register_optimizer_step_pre_hook(self._before_optimizer_step),
            optimizer.register_optimizer_step_post_hook(self._after_optimizer_step),
        ]

    def remove(self) -> None:
        """Put everything back. A library says that it is known at every iteration, which may be a timestep."""
        if not self._handles:
            return
        _native.unfollow_networks()
        self._replacements.restore()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _followed_functional_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Follow what is behind torch.func.grad, which calls what it differentiates as well."""
        recorded, is_compiling = _native.Hooked(original, (LEARNING,)), self._is_compiling

        @functools.wraps(original)
        def grad_and_value_impl(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            return recorded(*args, **kwargs)

        return grad_and_value_impl

    def _before_optimizer_step(self, *_: Any) -> None:
        if not self._is_compiling():
            _native.begin_step()

    def _after_optimizer_step(self, *_: Any) -> None:
        if not self._is_compiling():
            _native.end_step()
            self._iterations.after_update()


def _followed_distribution(name: str, method: Callable[..., Any]) -> _native.Hooked:
    return _native.follow_distribution(_native.Hooked(method, ()), name == "__init__")


def _within_backpropagation(original: Callable[..., Any]) -> Callable[..., Any]:
    is_followed, is_open = _native.is_followed, _native.is_open

    @functools.wraps(original)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_followed() or is_open(BACKPROPAGATION):
            return original(self, *args, **kwargs)
        with BACKPROPAGATION:
            return original(self, *args, **kwargs)

    return zero_grad


def _reached(tensors: Any, calls: dict[int, tuple[int, int]]) -> set[int]:
    """Return those calls that made a part of the graph of `tensors`: a thread numbers the nodes that it makes."""
    oldest = min(first for first, _ in calls.values())
    ahead = [getattr(tensor, "grad_fn", None) for tensor in tensors]
    numbers: dict[Any, int] = {}
    while ahead:
        node = ahead.pop()
        if node is None or node in numbers:
            continue
        numbers[node] = node._sequence_nr()
        if numbers[node] >= oldest:  # what is older leads to what is older still
            ahead += [earlier for earlier, _ in node.next_functions]
    return {place for place, (first, end) in calls.items() if _any_between(first, end, numbers.values())}


def _any_between(first: int, end: int, numbers: Iterable[int]) -> bool:
    return any(first <= number < end for number in numbers)
