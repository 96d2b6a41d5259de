"""The configuration says what to record; it is kept as config.json in the trace, so that every process obeys it."""

from __future__ import annotations

from rlscope.record import small_json
from rlscope.trace.files import MOST_JSON_BYTES, read_regular

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from pathlib import Path

CONFIG_NAME = "config.json"
HOW_TO_REPORT = "call rlscope.report_progress(timesteps=...) once per iteration of your loop"
#: The only variable that the recorder reads: the directory of the trace that this process belongs to.
TRACE_VARIABLE = "RLSCOPE_TRACE"
#: How often a second Python's stacks are looked at, and where lines are asked for: trace_format.h has the periods.
STACKS_HZ = 125
LINES_HZ = 1000
LAYERS = ("native", "simulator", "backend", "cuda", "wait")


class _Values:
    """Those are equal that have equal attributes. No dataclass: every process would pay for that import."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(**{vars(self)!r})"


class ClockSource(_Values):
    """The place where a process on another machine asks what time it is where `rlscope record` runs.

    Attributes:
        boot_id: The id of that machine since it was started; a process that has the same one need not ask.
            Empty where it is not known.
        addresses: The addresses of that machine, any of which may answer.
        port: The port of UDP.
        token: 32 random hexadecimal digits; a question without them is not answered.
    """

    def __init__(self, boot_id: str, addresses: tuple[str, ...], port: int, token: str) -> None:
        self.boot_id = boot_id
        self.addresses = addresses
        self.port = port
        self.token = token


class RecordConfig(_Values):
    """The options by which a run is recorded.

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
        stacks_hz: How often a second Python's stacks are looked at, so that it is known which lines lead to time; 0 for
            not at all.
        idle: Whether nothing is recorded but windows that are asked for while the program runs.
        keep: How much is kept of windows that `rlscope record` itself asks for, as the user gave it; None without that.
        on_slow: An iteration that takes so many times the median is slow, and its windows stay; None without that.
        every: Of so many iterations one is recorded, each in a window of its own; None without that.
    """

    def __init__(
        self,
        layers: tuple[str, ...] = LAYERS,
        auto: bool = True,
        delay_iterations: int = 0,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        clock: ClockSource | None = None,
        counters: tuple[str, ...] = (),
        operations: tuple[str, ...] = (),
        stacks_hz: int = 0,
        idle: bool = False,
        keep: str | None = None,
        on_slow: float | None = None,
        every: int | None = None,
    ) -> None:
        self.layers = layers
        self.auto = auto
        self.delay_iterations = delay_iterations
        self.max_iterations = max_iterations
        self.max_seconds = max_seconds
        self.clock = clock
        self.counters = counters
        self.operations = operations
        self.stacks_hz = stacks_hz
        self.idle = idle
        self.keep = keep
        self.on_slow = on_slow
        self.every = every

    @property
    def iteration_options(self) -> str:
        """Return the options that count iterations, as the user gave them; empty if none was given."""
        given = ["--delay-iterations"] * (self.delay_iterations > 0)
        return " and ".join(given + ["--max-iterations"] * (self.max_iterations is not None))

    def save(self, directory: Path) -> None:
        """Write config.json into `directory`, in one step that no reader sees half of."""
        import json

        from rlscope.trace.manifest import write_in_one_step

        text = json.dumps(self, default=vars, indent=2)
        write_in_one_step(directory / CONFIG_NAME, text + "\n")

    @classmethod
    def load(cls, directory: str | Path) -> RecordConfig:
        """Read config.json of the trace in `directory`, and leave out what only another version knows.

        Raises:
            OSError: it cannot be read.
            TraceFormatError: it is no regular file.
            ValueError: it is not what `save` wrote.
        """
        path = f"{directory}/{CONFIG_NAME}"
        found = small_json.read(read_regular(path, MOST_JSON_BYTES).decode())
        config = cls()
        try:
            for name, value in found.items():
                if name in vars(config):
                    is_list = isinstance(getattr(config, name), tuple)
                    setattr(config, name, tuple(value) if is_list else value)
            if config.clock is not None:
                config.clock = ClockSource(**{**found["clock"], "addresses": tuple(found["clock"]["addresses"])})
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} was written by another version of rlscope: {error}") from error
        return config
