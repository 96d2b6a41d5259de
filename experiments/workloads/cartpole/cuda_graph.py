"""This file captures the kernels of K steps of CartPole and policy in PyTorch once, and launches them as one graph."""

from typing import Any

import torch
from torch import Tensor

from cartpole.implementation import Policy, UnavailableError
from cartpole.pytorch import Batch, Environments, Loop


class CudaGraph(Environments):
    """K steps are one launch, of the kernels that eager PyTorch would launch one by one."""

    name = "CUDA graph"

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        if device != "cuda":
            raise UnavailableError(f"{self.name} on {device}: not testable here: only a GPU has such graphs; use cuda")
        super().__init__(environments, steps_per_call, device, seed, policy)
        self._captured: dict[Loop, Captured] = {}

    def _run(self, loop: Loop, batch: Batch, *inputs: Tensor) -> tuple[Batch, Any]:
        """Launch the loop's graph; a replay, the only loop with inputs, has one of its own each time."""
        if inputs:
            return batch, Captured(loop, batch, *inputs).launch()
        if loop not in self._captured:
            self._captured[loop] = Captured(loop, batch)
        return batch, self._captured[loop].launch()


class Captured:
    """The kernels of a loop over given tensors; at its end they write the environments to where they were read.

    Capturing takes no step and no random number: the rehearsal, in which libraries allocate what they may not allocate
    while kernels are captured, is of no consequence.
    """

    def __init__(self, loop: Loop, batch: Batch, *inputs: Tensor) -> None:
        random = torch.cuda.get_rng_state()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            loop(batch, *inputs)
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.set_rng_state(random)
        self._graph = torch.cuda.CUDAGraph()
        self._inputs = inputs  # the kernels hold addresses only
        with torch.cuda.graph(self._graph):
            after, self._taken = loop(batch, *inputs)
            for old, new in zip(batch, after, strict=True):
                old.copy_(new)

    def launch(self) -> Any:
        """Run all kernels; what the steps did is overwritten by the next launch."""
        self._graph.replay()
        return self._taken
