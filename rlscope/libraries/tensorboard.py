"""TensorBoard: what the writers of PyTorch and of tensorboardX are given is logged."""

from rlscope.model import LOG
from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = tuple(
    MethodHook(module, "SummaryWriter", method, (LOG,))
    for module in ("torch.utils.tensorboard.writer", "tensorboardX.writer")
    for method in (
        "add_scalar",
        "add_scalars",
        "add_histogram",
        "add_image",
        "add_images",
        "add_video",
        "add_figure",
        "add_text",
        "add_hparams",
        "add_graph",
        "flush",
        "close",
    )
)
