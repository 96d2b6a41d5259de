"""What to record: one frozen dataclass, kept as config.json in the trace so that every process obeys it."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from rlscope.trace.manifest import write_in_one_step

CONFIG_NAME = "config.json"
HOW_TO_REPORT = "call rlscope.report_progress(timesteps=...) once per iteration of your loop"
#: The only variable that the recorder reads: the directory of the trace that this process belongs to.
TRACE_VARIABLE = "RLSCOPE_TRACE"
LAYERS = ("simulator", "backend", "cuda", "wait")


@dataclass(frozen=True)
class ClockSource:
    """Where a process on another machine asks what time it is where `rlscope record` runs.

    Attributes:
        boot_id: of that machine since it was started; a process that has the same one need not ask.
        addresses: of that machine, any of which may answer.
        port: of UDP.
        token: 32 random hexadecimal digits; a question without them is not answered.
    """

    boot_id: str
    addresses: tuple[str, ...]
    port: int
    token: str


@dataclass(frozen=True)
class RecordConfig:
    """How a run is recorded.

    Attributes:
        layers: Categories whose boundaries are recorded, with cuda the work of GPUs as well; operations and Python time
            always are.
        auto: Whether operations of known libraries are recorded without edits.
        delay_iterations: Iterations of the training loop before recording starts.
        max_iterations: Iterations to record, None for all.
        max_seconds: Seconds to record, None for all.
        clock: Whom processes on other machines ask for the time, None where nobody answers.
        counters: Hardware counters that are sampled, by the names that they were asked for. With any, times are not for
            comparison with those of other runs.
        operations: What the user names, as `STAGE=module:function`.
    """

    layers: tuple[str, ...] = LAYERS
    auto: bool = True
    delay_iterations: int = 0
    max_iterations: int | None = None
    max_seconds: float | None = None
    clock: ClockSource | None = None
    counters: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()

    @property
    def iteration_options(self) -> str:
        """The options that count iterations, as the user gave them; empty if none was given."""
        given = ["--delay-iterations"] * (self.delay_iterations > 0)
        return " and ".join(given + ["--max-iterations"] * (self.max_iterations is not None))

    def save(self, directory: Path) -> None:
        """Writes config.json into `directory`, in one step that no reader sees half of."""
        write_in_one_step(directory / CONFIG_NAME, json.dumps(dataclasses.asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, directory: Path) -> "RecordConfig":
        """Reads config.json of the trace in `directory`."""
        values = json.loads((directory / CONFIG_NAME).read_text(encoding="utf-8"))
        values["layers"] = tuple(values["layers"])
        values["counters"] = tuple(values.get("counters", ()))
        values["operations"] = tuple(values.get("operations", ()))
        if (clock := values.get("clock")) is not None:
            values["clock"] = ClockSource(**{**clock, "addresses": tuple(clock["addresses"])})
        return cls(**values)
