"""Functional collectives of torch.distributed, which DTensor and compiled code call: each returns a tensor to wait for.

A call goes from Python to C++ without a process group in Python, so its operator is followed instead.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from rlscope.libraries.torch_distributed import NATIVE, Call, communicator_of, following_wait, watched
from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary, WrapperHook

LIBRARY = "torch.distributed._functional_collectives"
#: By operator: what it does. The first argument is the rank's own part, the last positional one the group.
OPERATORS = {
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_reduce_coalesced_": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_out": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_out": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_": "broadcast",
}
#: As Python and as compiled code call an operator.
OVERLOADS: tuple[tuple[str, ...], ...] = ((), ("default",))

Function = Callable[..., Any]


def _path(operator: str, overload: tuple[str, ...]) -> tuple[str, ...]:
    return ("torch", "ops", "_c10d_functional", operator, *overload, "_op")


def _tensors(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _are_real(tensors: list[Any]) -> bool:
    """Tell whether they have values; with other classes the operator is traced, or is called again from inside."""
    torch: Any = sys.modules["torch"]
    return all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in tensors)


def _group(name: Any) -> Any:
    """Return a process group that is given itself or, as until PyTorch 2.12, by its name."""
    return sys.modules[NATIVE]._resolve_process_group(name) if isinstance(name, str) else name


def _following_operator(function: str) -> Callable[[Function], Function]:
    """Wrap an operator that returns tensors, the first of which stands for all to wait for."""

    def wrap(operator: Function) -> Function:
        def calling(*args: Any, **kwargs: Any) -> Any:
            if not _are_real(_tensors(args[0])):
                return operator(*args, **kwargs)
            call = Call(communicator_of(_group(args[-1])), function, args[0])
            result = operator(*args, **kwargs)
            watched(_tensors(result)[0], call)
            return result

        return calling

    return wrap


def _wrappers() -> Iterator[WrapperHook]:
    for overload in OVERLOADS:
        for operator, function in OPERATORS.items():
            yield WrapperHook(LIBRARY, _path(operator, overload), _following_operator(function))
        yield WrapperHook(LIBRARY, _path("wait_tensor", overload), following_wait)


BOUNDARIES = (
    Boundary(
        library=LIBRARY,
        category=Category.BACKEND,
        functions=tuple(".".join(_path(operator, overload)) for operator in OPERATORS for overload in OVERLOADS),
        wrappers=tuple(_wrappers()),
    ),
)
