"""Uses PyTorch in the ways that look closely at functions and types; prints what came out."""

import copy
import io
import pickle
import warnings

import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(3, 4)


@torch.compile(fullgraph=True, backend="aot_eager")
def compiled(x: torch.Tensor) -> torch.Tensor:
    y = model(x)
    z = y[:, 0] * 2
    return z.sum() + torch.add(y, 1).mean()


class Twice(nn.Module):
    """Calls a module of its own, as an agent does."""

    def __init__(self):
        super().__init__()
        self.body = model

    def forward(self, x):
        return self.body(x) * 2


def compiled_modules():
    print("module", torch.compile(Twice(), fullgraph=True, backend="aot_eager")(x).sum().item())
    twice = Twice()
    twice.compile(fullgraph=True, backend="aot_eager")
    print("in place", twice(x).sum().item())
    print("called in", torch.compile(lambda v: twice(v) + 1, fullgraph=True, backend="aot_eager")(x).sum().item())
    print("fx", torch.fx.symbolic_trace(Twice()).code)


def compiled_update():
    learner = nn.Linear(4, 1)
    with torch.no_grad():
        learner.weight.fill_(0.5)
        learner.bias.zero_()
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend="aot_eager")
    for _ in range(3):
        optimizer.zero_grad()
        learner(x).sum().backward()
        step()
    print("compiled step", learner.weight.tolist())

    @torch.compile(backend="aot_eager")
    def update():
        optimizer.zero_grad()
        loss = learner(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    print("compiled update", [update().item() for _ in range(3)])
    counters = torch._dynamo.utils.counters
    print("graphs", counters["stats"]["unique_graphs"], "breaks", sum(counters["graph_break"].values()))


def hooks():
    seen = []
    twice = Twice()
    handles = [
        twice.register_forward_pre_hook(lambda module, given: seen.append("before")),
        twice.register_forward_hook(lambda module, given, result: seen.append("after")),
        twice.register_full_backward_hook(lambda module, given, result: seen.append("backward")),
    ]
    twice(x.clone().requires_grad_()).sum().backward()
    for handle in handles:
        handle.remove()
    twice(x)
    print("hooks", seen)
    parameters = {name: parameter * 2 for name, parameter in model.named_parameters()}
    print("functional_call", torch.func.functional_call(model, parameters, (x,)).sum().item())
    print("checkpoint", torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum().item())
    print("called", type(twice).__call__.__name__, type(twice).__call__.__qualname__)
    try:
        twice(torch.ones(5))
    except RuntimeError as error:
        print("error", error)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Subclass(torch.Tensor): ...


def main() -> None:
    print("compile", compiled(x).item())
    compiled_modules()
    compiled_update()
    hooks()
    print("script", torch.jit.script(nn.Linear(4, 2))(x).shape)
    print("trace", torch.allclose(torch.jit.trace(model, x)(x), model(x)))
    print("export", torch.export.export(model, (x,)).module()(x).tolist())
    a = torch.ones(3, requires_grad=True)
    a.register_hook(lambda gradient: gradient + 1)
    Double.apply(a).sum().backward()
    print("autograd", a.grad.tolist())
    print("pickle", pickle.loads(pickle.dumps(torch.add)) is torch.add, pickle.loads(pickle.dumps(x)).equal(x))
    print("deepcopy", copy.deepcopy(model)(x).equal(model(x)))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    print("save", sorted(torch.load(file)))
    print("subclass", type(torch.ones(3).as_subclass(Subclass)[0]).__name__)
    print(
        "vmap", torch.func.vmap(lambda v: v.sum())(x).tolist(), torch.func.grad(lambda v: (v**2).sum())(x[0]).tolist()
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print("autocast", model(x).dtype)
    batches = DataLoader(TensorDataset(x), num_workers=2, batch_size=2)
    print("workers", [batch[0].tolist() for batch in batches])
    try:
        torch.add("a", 1)
    except TypeError as error:
        print("error", error)


if __name__ == "__main__":
    main()
