"""Two ranks that each sum a tensor three times, launched as told: `launched_ranks.py variables|accelerate|ray`."""

import os
import socket
import subprocess
import sys

CALLS = 3


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def sum_tensors() -> None:
    """What a rank does."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    for _ in range(CALLS):
        dist.all_reduce(torch.ones(10))
    dist.destroy_process_group()


def by_variables() -> None:
    """Start processes that know their ranks by variables alone, as DeepSpeed's launcher and srun do."""
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "rank"], env={**os.environ, **job, "RANK": number, "LOCAL_RANK": number}
        )
        for number in "01"
    ]
    if max(process.wait() for process in processes) > 0:
        raise SystemExit("a rank failed")


def by_accelerate() -> None:
    """Let Accelerate launch them; told of several GPUs it does so without one too, and without them it needs MPI."""
    options = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    options += ["--dynamo_backend", "no", "--main_process_port", str(free_port())]
    command = [sys.executable, "-m", "accelerate.commands.launch", *options, __file__, "rank"]
    subprocess.run(command, check=True)


def by_ray() -> None:
    """Make ranks of Ray's actors."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False)

    @ray.remote
    class Trainer:
        def train(self, number: int, port: int) -> None:
            job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "RANK": str(number)}
            os.environ.update(job)
            sum_tensors()

    port = free_port()
    trainers = [Trainer.remote() for _ in range(2)]  # type: ignore[attr-defined]
    ray.get([trainer.train.remote(number, port) for number, trainer in enumerate(trainers)])
    ray.shutdown()


if __name__ == "__main__":
    {"rank": sum_tensors, "variables": by_variables, "accelerate": by_accelerate, "ray": by_ray}[sys.argv[1]]()
