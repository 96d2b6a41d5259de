"""This file executes runs of many studies at once on Ray: on this machine, or on a cluster with one file system."""

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from experiments import CHECKOUT
from experiments.harness.execute import Execution, RunFailedError, execute
from experiments.harness.lock import LOCK
from experiments.harness.progress import Progress, StudyRun
from experiments.harness.slots import cores_needed, cores_of_machine, make_slots
from experiments.harness.supervisor import SECONDS_TO_END_IN
from rlscope.errors import RLScopeError, UsageError

#: A run that its node took along so often may be what ends the nodes.
LOSSES = 3
#: Seconds between looks at which nodes there are.
REFRESH_S = 5
SECONDS_TO_CONNECT_IN = 5
OBJECT_STORE_BYTES = 100 << 20
#: Of sockets below it, whose paths may have 107 characters: what TMPDIR names is often too long.
TEMPORARY = "/tmp"
SHARED = "Nodes need a file system that all share, with the checkout and --output at the same place"


def record_on_ray(progress: Progress, runs: Sequence[StudyRun], address: str | None, output: Path) -> None:
    """Execute those of the runs that are open, one in each slot at a time.

    Args:
        progress: what learns of them.
        runs: in the order in which they begin.
        address: of a cluster that has been started; None for one on this machine, which ends with the runs.
        output: the directory, locked, below which they leave what they record.
    """
    ahead = [run for run in runs if progress.recorded.is_open(run)]
    if ahead:
        with connected(address) as ray, progress.shown():
            Dispatcher(ray, progress, ahead, Request.of(ahead, output)).run()


def import_ray(address: str | None) -> Any:
    """Return Ray's module, which reads how it is configured when it is imported.

    Args:
        address: of the cluster; None for one of its own.

    Raises:
        UsageError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else runs give way to whatever else there is
    if address is None:
        # A cluster of its own has a token of its own; else Ray would leave one in the home directory.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=own_token())
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"expected Ray, which runs several studies, found: {error}. Install it with `make setup`, or run one study "
            "by its own script, which needs no Ray"
        ) from error
    return ray


@cache
def own_token() -> str:
    """Return the token of this process's own clusters: Ray reads it once, for all that come one after the other."""
    return secrets.token_hex(32)


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect to a cluster, and yield Ray's module.

    Raises:
        UsageError: Ray is not installed, or there is no cluster.
    """
    ray = import_ray(address)
    from ray.job_config import JobConfig

    common: dict[str, Any] = {
        "job_config": JobConfig(_py_driver_sys_path=[str(CHECKOUT)]),
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    on_sigterm = signal.getsignal(signal.SIGTERM)
    directory = tempfile.mkdtemp(prefix=f"rlscope-ray-{os.getpid()}-", dir=TEMPORARY)
    try:
        if address is None:
            ray.init(
                "local",
                num_cpus=len(os.sched_getaffinity(0)),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=directory,
                **common,
            )
        else:
            check_answers(address)
            try:
                ray.init(address=address, **common)
            except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
                raise UsageError(
                    f"expected a Ray cluster at --ray-address {address}, found something that does not take this "
                    "command. Give it the RAY_AUTH_MODE and RAY_AUTH_TOKEN of that cluster, and its version of Ray"
                ) from error
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray has put its own in the place
        yield ray
    finally:
        ray.shutdown()
        shutil.rmtree(directory, ignore_errors=True)


def check_answers(address: str) -> None:
    """See whether anything listens there: Ray would try for minutes.

    Raises:
        UsageError: Nothing does.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT_IN).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"expected a Ray cluster at --ray-address {address}, as HOST:PORT, found: {error}. Start one with "
            "`ray start --head`"
        ) from error


@dataclass(frozen=True)
class Request:
    """This is what runs ask of a node.

    Attributes:
        cores: of a slot.
        gpus: of a slot.
        files: what has to be there.
        lock: the lock file of the output.
        holder: what it holds, so that a node which sees another file in its place is found.
        niceness: the most that runs may have.
    """

    cores: int
    gpus: int
    files: tuple[Path, ...]
    lock: Path
    holder: str
    niceness: int

    @staticmethod
    def of(runs: Sequence[StudyRun], output: Path) -> "Request":
        """Return what all of these runs need."""
        files = dict.fromkeys(path for run in runs for path in (run.run.python, run.run.script))
        gpus = int(any(run.run.device == "cuda" for run in runs))
        lock = output / LOCK
        return Request(cores_needed(runs), gpus, tuple(files), lock, lock.read_text(), os.nice(0))


@dataclass(frozen=True)
class Slot:
    """A place where one run at a time is executed.

    Attributes:
        node: Ray's id of the node.
        name: the node's name for people.
        cores: that the run may use.
        cpus: as many of Ray's, which may be fewer than the node has.
        gpus: as many of Ray's.
    """

    node: str
    name: str
    cores: tuple[int, ...]
    cpus: int
    gpus: int


def look_around(request: Request) -> list[tuple[int, ...]] | str:
    """Return, on a node, the slots in its cores, or why no run can be executed there."""
    try:
        if request.lock.read_text() != request.holder:
            return f"expected the output of this command at {request.lock.parent}, found another one's. {SHARED}"
    except OSError as error:
        return f"expected to see {request.lock.parent}, found: {error.strerror}. {SHARED}"
    missing = [str(path) for path in request.files if not path.exists()]
    if missing:
        return f"expected {', '.join(missing)}, found nothing there. {SHARED}"
    if os.nice(0) > request.niceness:
        return (
            f"expected runs of niceness {request.niceness}, found {os.nice(0)}, with which they give way to everything "
            "else. Start that node with RAY_worker_niceness=0"
        )
    return make_slots(cores_of_machine(), request.cores)


def execute_there(run: StudyRun, cores: tuple[int, ...], node: str) -> Execution | RLScopeError:
    """Execute a run on a node. That it failed is a result; what is raised is what nobody has foreseen."""
    try:
        return execute(run.run, run.directory, cores, node)
    except RLScopeError as error:
        return error


class Dispatcher:
    """Gives runs to the slots of the nodes until none is left; nodes may join and be lost meanwhile."""

    def __init__(self, ray: Any, progress: Progress, runs: Sequence[StudyRun], request: Request) -> None:
        self._ray = ray
        self._progress = progress
        self._request = request
        self._ahead = deque(runs)
        self._free: list[Slot] = []
        self._running: dict[Any, tuple[StudyRun, Slot]] = {}
        self._asked: dict[Any, dict[str, Any]] = {}
        self._known: set[str] = set()
        self._refused: dict[str, str] = {}
        self._losses: Counter[Path] = Counter()
        # Ray repeats nothing: this class knows where a run may go, and what the lost one has left.
        self._look_around = ray.remote(max_retries=0, num_cpus=0)(look_around)
        self._execute = ray.remote(max_retries=0)(execute_there)

    def run(self) -> None:
        """Execute everything.

        Raises:
            UsageError: There is no node, or the disk is full.
        """
        try:
            while self._ahead or self._running:
                self._ask_new_nodes()
                self._fill_slots()
                waiting = [*self._running, *self._asked]
                if not waiting and self._ahead:
                    raise UsageError(self._no_node())
                if waiting:
                    for ended in self._ray.wait(waiting, timeout=REFRESH_S)[0]:
                        self._take(ended)
                    self._progress.on_news()
        except BaseException:
            self._end_all()
            raise

    def _ask_new_nodes(self) -> None:
        """Find nodes that have joined, and forget those that have left."""
        alive = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        self._known &= set(alive)
        self._free = [slot for slot in self._free if slot.node in alive]
        for node in alive.values():
            if node["NodeID"] not in self._known:
                self._known.add(node["NodeID"])
                there = self._look_around.options(scheduling_strategy=self._on(node["NodeID"]))
                self._asked[there.remote(self._request)] = node

    def _fill_slots(self) -> None:
        """Start runs as far as there is room."""
        while self._free and self._ahead:
            run = self._ahead.popleft()
            if not self._progress.recorded.is_open(run):
                continue
            slot = self._free.pop(0)
            there = self._execute.options(
                num_cpus=slot.cpus, num_gpus=slot.gpus, scheduling_strategy=self._on(slot.node)
            )
            self._running[there.remote(run, slot.cores, slot.name)] = run, slot
            self._progress.started(run)

    def _take(self, ended: Any) -> None:
        """Take what a node has answered."""
        try:
            answer = self._ray.get(ended)
        except self._ray.exceptions.RayError as error:
            answer = error
        if ended in self._asked:
            self._take_node(self._asked.pop(ended), answer)
        else:
            self._take_run(*self._running.pop(ended), answer)

    def _take_node(self, node: dict[str, Any], answer: Any) -> None:
        key, name = node["NodeID"], self._name_of(node)
        if isinstance(answer, self._ray.exceptions.RayTaskError):
            answer = f"expected the checkout at {CHECKOUT}, found: {str(answer).splitlines()[-1]}. {SHARED}"
        if isinstance(answer, str):
            self._refused[key] = f"node {name} is not used: {answer}"
            self._progress.say(self._refused[key])
        elif isinstance(answer, self._ray.exceptions.RayError):
            self._known.discard(key)  # asked again as long as Ray takes it for alive
            time.sleep(1)
        else:
            busy = [slot for _, slot in self._running.values()]
            slots = slots_of(key, name, answer, node["Resources"], self._request.gpus)
            self._free = [slot for slot in self._free if slot.node != key]
            self._free += [slot for slot in slots if slot not in busy]
        self._progress.slots = len(self._free) + len(self._running)

    def _take_run(self, run: StudyRun, slot: Slot, answer: Any) -> None:
        if isinstance(answer, self._ray.exceptions.RayTaskError):
            raise answer
        if isinstance(answer, self._ray.exceptions.RayError):
            self._take_loss(run, slot, answer)
            return
        self._free.append(slot)
        if isinstance(answer, RunFailedError):
            self._progress.failed(run, answer)
        elif isinstance(answer, RLScopeError):
            raise answer
        else:
            self._progress.done(run, answer, slot.name)

    def _take_loss(self, run: StudyRun, slot: Slot, error: Exception) -> None:
        """Note that the node has gone, or has ended the process that executed the run. A node that is there is
        asked again.
        """
        self._free = [other for other in self._free if other.node != slot.node]
        self._known.discard(slot.node)
        self._losses[run.directory] += 1
        if self._losses[run.directory] == LOSSES:
            reason = f"run {run.run.name} was lost {LOSSES} times with what executed it ({type(error).__name__})"
            self._progress.failed(run, RunFailedError(f"{reason}; look for what ends processes on {slot.name}"))
            return
        self._progress.lost(run, f"lost on node {slot.name} ({type(error).__name__})")
        if not self._progress.look_up(run):
            self._ahead.appendleft(run)

    def _end_all(self) -> None:
        """End the runs that are being executed; what they have recorded so far is discarded there."""
        for running in self._running:
            self._ray.cancel(running)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running), timeout=SECONDS_TO_END_IN + 5)

    def _on(self, node: str) -> Any:
        return self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)

    def _name_of(self, node: dict[str, Any]) -> str:
        """Return the name that the node was started with; its host's, where that is only an address."""
        name, host = node["NodeName"], node["NodeManagerHostname"]
        return str(host if name == node["NodeManagerAddress"] else name)

    def _no_node(self) -> str:
        found = "; ".join(self._refused.values()) or "none that has " + ("a GPU" if self._request.gpus else "a core")
        return f"expected a node that can take runs, found: {found}. Runs that are complete are kept"


def slots_of(
    node: str, name: str, places: Sequence[tuple[int, ...]], resources: dict[str, float], gpus: int
) -> list[Slot]:
    """Return the slots of a node, as many as Ray has CPUs and GPUs for there.

    Args:
        node: Ray's id.
        name: for people.
        places: the cores of each slot.
        resources: as Ray states them.
        gpus: of a slot.
    """
    slots: list[Slot] = []
    cpus_left, gpus_left = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
    for cores in places:
        cpus = min(len(cores), cpus_left) if not slots else len(cores)
        if cpus == 0 or cpus > cpus_left or gpus > gpus_left:
            break
        slots.append(Slot(node, name, cores, cpus, gpus))
        cpus_left, gpus_left = cpus_left - cpus, gpus_left - gpus
    return slots
