"""A hand-written training that is slow for one reason, its argument; a comment marks the line of it."""

import gc
import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.reduction import ForkingPickler

import numpy as np
import torch

REASON = sys.argv[1]
torch.set_num_threads(1)
policy = torch.nn.Linear(512, 8)
optimizer = torch.optim.SGD(policy.parameters(), 0.001)


def act(observation):
    with torch.no_grad():
        return policy(torch.from_numpy(observation))


def update(batch):
    loss = policy(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def iteration():
    observations = []
    for _ in range(32):
        observation = np.ones(512, dtype=np.float32)
        act(observation)
        observations.append(observation)
    update(torch.from_numpy(np.array(observations)))


def garbage():
    heap = [[place] for place in range(200_000)]
    for _ in range(20):
        iteration()
        gc.collect()  # the reason
    return heap


def tensors_of_lists():
    for _ in range(20):
        iteration()
        torch.tensor([np.ones(2048) for _ in range(128)])  # the reason


def sleep():
    for _ in range(30):
        iteration()
        time.sleep(0.05)  # the reason


def disk():
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(40):
            iteration()
            file.write(bytes(2 << 20))
            os.fsync(file.fileno())  # the reason


def own_function():
    for _ in range(20):
        iteration()
        {number % 7 for number in range(600_000)}  # the reason


def graph_kept():
    hidden = torch.zeros(8, 512)
    for _ in range(120):
        for _ in range(4):
            hidden = torch.tanh(hidden + policy(hidden).mean())
        optimizer.zero_grad()
        hidden.mean().backward(retain_graph=True)  # the reason


def anomalies():
    torch.autograd.set_detect_anomaly(True)  # the reason
    for _ in range(200):
        iteration()


def compile_for(shapes):
    @torch.compile(backend="eager", dynamic=False)
    def loss(batch):
        return policy(batch).pow(2).mean()

    for shape in shapes:
        optimizer.zero_grad()
        loss(torch.ones(shape, 512)).backward()
        optimizer.step()


def send(connection):
    message = ForkingPickler.dumps([str(number) for number in range(400_000)])
    while True:
        connection.send_bytes(message)


def messages():
    receiver, sender = multiprocessing.Pipe(duplex=False)
    actor = multiprocessing.get_context("fork").Process(target=send, args=(sender,))
    actor.start()
    for _ in range(25):
        iteration()
        receiver.recv()  # the reason
    actor.terminate()


class Episodes(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, place):
        total = 0
        for number in range(60_000):
            total += number * place  # the reason
        return torch.full((512,), float(total % 7))


def dataset():
    for _ in range(3):
        for batch in torch.utils.data.DataLoader(Episodes(), batch_size=16, num_workers=1):
            update(batch)


if __name__ == "__main__":
    iteration()
    {
        "garbage_collection": garbage,
        "tensor": tensors_of_lists,
        "sleep": sleep,
        "disk": disk,
        "function": own_function,
        "graph": graph_kept,
        "dataset": dataset,
        "anomalies": anomalies,
        "messages": messages,
        "compile_once": lambda: compile_for([4] * 8),
        "compile_again": lambda: compile_for(range(1, 9)),
    }[REASON]()
