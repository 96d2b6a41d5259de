"""Give a recurrent layer the whole sequence instead of one step after the other.

**Why it is slow.** A cell for each step makes as many small calls as there are steps; `torch.nn.LSTM` makes one.

**Slow**

    for step in range(length):
        hidden, cell = self.cell(inputs[step], (hidden, cell))      # torch.nn.LSTMCell

**Faster**

    outputs, (hidden, cell) = self.lstm(inputs, (hidden, cell))     # torch.nn.LSTM

**How it is found.** Stacks pass `LSTMCell`, `GRUCell` or `RNNCell` of PyTorch in updates in an eighth of the training
or more.

**When it is wrong.** Where states are reset in the middle of a sequence, it has to be cut there first.

**Reported:** Stable-Baselines-Team/stable-baselines3-contrib #63, facebookresearch/BenchMARL #246.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.model import BACKPROPAGATION
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found

_CELLS = tuple(f"torch/nn/modules/rnn.py {kind}Cell." for kind in ("RNN", "LSTM", "GRU"))
_BACKWARD = "torch.run_backward"
_NATIVE = frozenset(f"torch.{kind}_cell" for kind in ("rnn_tanh", "rnn_relu", "lstm", "gru"))


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for cells that updates call step by step."""
    passing = evidence.stacks.passing(lambda name: name.startswith(_CELLS) or name in _NATIVE, BACKPROPAGATION)
    if passing is None:
        return
    backward = evidence.stacks.passing(_BACKWARD.__eq__, BACKPROPAGATION)
    backward_s = backward.seconds if backward is not None else 0.0
    rest_s = evidence.seconds(Cause.UPDATE) - backward_s
    # Gradients go through the same steps.
    seconds = passing.seconds + (backward_s * passing.seconds / rest_s if rest_s > 0 else 0.0)
    change = (
        f"give a recurrent layer whole sequences: {passing.function}, one step after the other, has "
        f"{evidence.share(seconds)} of the training, with its gradients{where(passing.place)}"
    )
    yield Found(change, "functions: stage=backpropagation", seconds, passing.place)
