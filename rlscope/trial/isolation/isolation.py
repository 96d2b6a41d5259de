"""Keeps trials from changing anything that stays: each runs in name spaces of its own, else in a copy of its folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rlscope.errors import RLScopeError
from rlscope.trial.isolation.copied import CannotCopy, Copy
from rlscope.trial.isolation.overlay import NoNameSpace, Overlay

#: Said to every trial. An empty address is MLflow's own default, which lies in the working folder.
_ALWAYS = {"RLSCOPE_TRIAL": "1", "WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": "", "MLFLOW_REGISTRY_URI": ""}
_WITHOUT_NETWORK = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class IsolationRefused(RLScopeError):
    """A trial could not be kept from changing the user's files."""


class _InPlace:
    """The folder itself: what a trial writes stays."""

    kind = "in place"

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}

    def command(self, command: Sequence[str]) -> list[str]:
        return list(command)

    def overwritten(self) -> tuple[Path, ...]:
        return ()

    def close(self) -> None:
        pass


class Isolation:
    """Keeps a trial from changing anything that stays.

    Attributes:
        environment: Variables that the trial needs beside those of this process.
    """

    def __init__(self, working_folder: Path, *, network: bool = False, in_place: bool = False) -> None:
        """Prepare for one trial.

        Args:
            working_folder: Where the command is started, and what may be copied.
            network: It may connect to other machines.
            in_place: It runs in the folder itself, and what it writes stays.
        """
        self._working_folder = working_folder.resolve()
        self._network = network
        self._in_place = in_place
        self._way: Overlay | Copy | _InPlace = _InPlace()
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Isolation:
        if not self._in_place:
            self._way = self._found_way()
        self.environment = _ALWAYS | ({} if self._network else _WITHOUT_NETWORK) | self._way.environment
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._way.close()

    def _found_way(self) -> Overlay | Copy:
        # Not `tempfile.gettempdir`, which writes a file to see whether it can.
        temporary = [Path(os.environ[name]) for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
        folders = [self._working_folder, Path(os.path.expanduser("~")), *temporary, Path("/tmp")]
        try:
            return Overlay(folders, self._network)
        except NoNameSpace as error:
            no_name_space = error
        try:
            return Copy(self._working_folder, self._network)
        except CannotCopy as error:
            raise IsolationRefused(
                f"a trial must not change files in {self._working_folder}, but it gets neither name spaces "
                f"({no_name_space}) nor a copy ({error}); --in-place runs it there all the same"
            ) from None

    @property
    def kind(self) -> str:
        """Return how the trial is kept from harm: 'overlay', 'copy', or 'in place'."""
        return self._way.kind

    def command(self, command: Sequence[str]) -> list[str]:
        """Return what to start instead of a command, in the working folder or in a folder of it."""
        return self._way.command(command)

    def overwritten(self) -> tuple[Path, ...]:
        """Return the files of before that the trial would have changed or removed."""
        return tuple(sorted(set(self._way.overwritten())))
