"""Rank 0 calls all_reduce, rank 1 calls barrier on another group and sleeps."""

import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number, port):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=number, world_size=2)
    dist.all_reduce(torch.ones(4))
    if number == 0:
        dist.all_reduce(torch.ones(4))
    time.sleep(1000)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    mp.spawn(rank, args=(port,), nprocs=2)
