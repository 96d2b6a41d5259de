"""Threads that compute, wait and stand in line for cores, and what the kernel says that they did: one JSON object.

The program runs beside as many processes that compute as the first argument says. The second one is the seed of what
each of its threads does. The third one says what keeps them from the cores: `one core` for the whole program, `a core
each`, which any thread chooses for itself, or the directory of a control group with a quota, which the program enters.
`schedstat` has a thread's time on a core and that in which it was ready to run and had none; what is left of the wall
time it was blocked.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import rlscope

LENGTH_S = 2.0
ONE_CORE, A_CORE_EACH = "one core", "a core each"


def schedstat() -> tuple[int, int]:
    """Nanoseconds of this thread on a core, and ready without one."""
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
        on_core, ready, _ = map(int, file.read().split())
    return on_core, ready


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def wait_unlisted(seconds: float) -> None:
    """Wait in a function that no list of blocking calls has."""
    signal.sigtimedwait([], seconds)


def work(name: str, rng: random.Random, has_a_core: bool, told: dict[str, dict[str, float]]) -> None:
    event = threading.Event()
    if has_a_core:
        os.sched_setaffinity(threading.get_native_id(), {rng.choice(sorted(os.sched_getaffinity(0)))})
    with rlscope.operation(name):
        start_ns, (ran, ready) = time.monotonic_ns(), schedstat()
        end_ns = start_ns + int(LENGTH_S * 1e9)
        while time.monotonic_ns() < end_ns:
            length_s = rng.choice((0.0002, 0.003, 0.03))
            rng.choice((compute, compute, time.sleep, event.wait, wait_unlisted))(length_s)
        wall_ns, (ran_later, ready_later) = time.monotonic_ns() - start_ns, schedstat()
    python, no_core = ran_later - ran, ready_later - ready
    told[name] = {"python": python, "no_core": no_core, "wait": wall_ns - python - no_core}


def main(spinners: int, seed: int, limit: str) -> None:
    if limit == ONE_CORE:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(spinners)]
    rng, told = random.Random(seed), dict[str, dict[str, float]]()
    threads = [
        threading.Thread(
            target=work, args=(f"thread {number}", random.Random(rng.random()), limit == A_CORE_EACH, told)
        )
        for number in range(rng.randint(1, 3))
    ]
    if limit not in (ONE_CORE, A_CORE_EACH):
        Path(limit, "cgroup.procs").write_text(f"{os.getpid()}\n")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.kill()
        other.wait()
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
