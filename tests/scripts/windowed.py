"""A training: `windowed.py END [child] [silent]`. END is a number of iterations, or a file: it ends once that is there.

With `child` a forked process trains beside it; with `silent` it reports no iteration. Prints `ready` before the first
iteration, and at the end how many there were and a hash of the parameters.
"""

import hashlib
import os
import sys

import torch

import rlscope

end = sys.argv[1]
iterations = int(end) if end.isdigit() else None
torch.manual_seed(7)
torch.set_num_threads(1)
network = torch.nn.Linear(16, 16)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
print("ready", flush=True)
child = os.fork() if "child" in sys.argv else None
iteration = 0
with rlscope.operation("training_loop"):
    while iteration < iterations if iterations is not None else not os.path.exists(end):
        iteration += 1
        with rlscope.operation("inference"):
            loss = network(torch.randn(8, 16)).square().mean()
        with rlscope.operation("backpropagation"):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if "silent" not in sys.argv and child != 0:
            rlscope.report_progress(timesteps=8 * iteration)
if child != 0:
    parameters = b"".join(each.detach().numpy().tobytes() for each in network.parameters())
    print(iteration, hashlib.sha256(parameters).hexdigest(), flush=True)
if child:
    os.waitpid(child, 0)
