"""Uses PyTorch in the ways that look closely at functions and types; prints what came out."""

import copy
import io
import pickle
import warnings

import torch
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
