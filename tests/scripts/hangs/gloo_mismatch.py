"""Rank 0 calls all_reduce, rank 1 calls barrier on another group and sleeps."""

import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29791"}
    dist.init_process_group("gloo", rank=number, world_size=2)
    dist.all_reduce(torch.ones(4))
    if number == 0:
        dist.all_reduce(torch.ones(4))
    time.sleep(1000)


if __name__ == "__main__":
    mp.spawn(rank, nprocs=2)
