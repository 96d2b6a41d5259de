"""This file starts Ray on one node or on two of this machine: each has its own address and half of the workers."""

import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HEAD, OTHER = "127.0.0.2", "127.0.0.3"
MEMORY_BYTES = 200_000_000
#: That nodes may take to start, on a machine that has much else to do.
START_S = 120


def set_variables() -> None:
    """Set the variables that Ray reads when it is imported; only who knows the token may join the cluster."""
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    os.environ.setdefault("RAY_worker_niceness", "0")  # else runners give way to whatever else the machine does


@contextlib.contextmanager
def ray_nodes(workers: int, *, is_cluster: bool) -> Iterator[None]:
    """Run Ray while it is needed, with a core for each worker whatever there is: those that sleep need few.

    Raises:
        TimeoutError: nodes did not start.
    """
    import ray

    with contextlib.ExitStack() as stack:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if is_cluster:
            address = stack.enter_context(two_nodes(workers))
            ray.init(address=address, _node_ip_address=HEAD, **quiet)
            wait_for(lambda: sum(node["Alive"] for node in ray.nodes()) == 2, f"two nodes at {address}")
        else:
            # Without an address Ray would join whatever cluster this machine has.
            ray.init("local", num_cpus=workers, include_dashboard=False, object_store_memory=MEMORY_BYTES, **quiet)
        stack.callback(ray.shutdown)
        yield


@contextlib.contextmanager
def two_nodes(workers: int) -> Iterator[str]:
    """Run two nodes, and yield the address of the first, which is the head."""
    with socket.create_server((HEAD, 0)) as free:
        port = free.getsockname()[1]
    first = workers // 2
    with (
        node(first, "--head", f"--node-ip-address={HEAD}", f"--port={port}", "--include-dashboard=false"),
        contextlib.ExitStack() as stack,
    ):
        wait_for(lambda: accepts(port), f"a node at {HEAD}:{port}")
        stack.enter_context(node(workers - first, f"--address={HEAD}:{port}", f"--node-ip-address={OTHER}"))
        yield f"{HEAD}:{port}"


@contextlib.contextmanager
def node(cores: int, *options: str) -> Iterator[None]:
    """Run a node, and end it by a signal: `ray stop` would end all Ray processes of the machine."""
    ray = Path(sys.executable).with_name("ray")
    command = [str(ray), "start", "--block", f"--num-cpus={cores}", f"--object-store-memory={MEMORY_BYTES}", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def accepts(port: int) -> bool:
    """Return whether the head can be reached."""
    with contextlib.suppress(OSError), socket.create_connection((HEAD, port), timeout=1):
        return True
    return False


def wait_for(is_there: Callable[[], bool], what: str) -> None:
    """Wait until the condition is true.

    Raises:
        TimeoutError: it takes too long.
    """
    end_s = time.monotonic() + START_S
    while not is_there():
        if time.monotonic() > end_s:
            raise TimeoutError(f"expected {what} within {START_S} s, found none; Ray's log is in /tmp/ray")
        time.sleep(0.1)
