"""This file holds an engine that generates many texts at once, a token of each at a time, as servers of models do."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from language_model import LanguageModel

import rlscope


@dataclass(eq=False)
class Text:
    """A text on its way.

    Attributes:
        tokens: so far; at first those of the prompt.
        log_probabilities: of each token when it was drawn; 0.0 of those that the model has not written.
        is_own: whether the model has written the token.
    """

    tokens: list[int]
    log_probabilities: list[float] = field(default_factory=list)
    is_own: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log_probabilities = [0.0] * len(self.tokens)
        self.is_own = [False] * len(self.tokens)

    def append(self, token: int, log_probability: float = 0.0, is_own: bool = False) -> None:
        """Add a token at the end."""
        self.tokens.append(token)
        self.log_probabilities.append(log_probability)
        self.is_own.append(is_own)


#: What the engine is given, it gives back.
SomeText = TypeVar("SomeText", bound=Text)


class Engine(Generic[SomeText]):
    """Generates for as many texts at once as it has slots.

    Attributes:
        model: what it generates with.
        waiting: texts without a slot.
        running: texts by slot.
        steps: when each step ended, and how many texts it was for.
    """

    def __init__(self, model: LanguageModel, slots: int, longest: int, stops: Sequence[int]) -> None:
        """Make an engine for texts of up to `longest` tokens; a text is also over at each token in `stops`."""
        self.model = model
        self.waiting: deque[SomeText] = deque()
        self.running: dict[int, SomeText] = {}
        self.steps: list[tuple[float, int]] = []
        self._longest, self._stops = longest, frozenset(stops)
        self._cache = model.new_cache(slots, longest)
        self._free = list(range(slots))

    @property
    def is_idle(self) -> bool:
        """Return whether no text wants a token."""
        return not (self.running or self.waiting)

    @torch.inference_mode()
    def step(self) -> list[SomeText]:
        """Write a token of each text, and return those that are over for now."""
        fresh = {self._free.pop(): self.waiting.popleft() for _ in range(min(len(self._free), len(self.waiting)))}
        if fresh:
            with rlscope.operation("prefill"):
                self._write(fresh, [0] * len(fresh))
        if self.running:
            with rlscope.operation("decode"):
                self._write(self.running, [len(text.tokens) - 1 for text in self.running.values()])
        self.running |= fresh
        self.steps.append((time.perf_counter(), len(self.running)))
        over = [slot for slot, text in self.running.items() if self.is_over(text)]
        self._free += over
        return [self.running.pop(slot) for slot in over]

    def is_over(self, text: Text) -> bool:
        """Return whether a text is not to get a token now."""
        return text.tokens[-1] in self._stops or len(text.tokens) >= self._longest

    def _write(self, texts: Mapping[int, Text], starts: Sequence[int]) -> None:
        """Draw the next token of texts, of which the cache has the tokens before `starts`."""
        new = [text.tokens[start:] for text, start in zip(texts.values(), starts, strict=True)]
        most, device = max(map(len, new)), self._cache.device
        tokens = torch.tensor([each + [0] * (most - len(each)) for each in new], device=device)
        last = torch.tensor([len(each) - 1 for each in new], device=device)
        slots, first = torch.tensor(list(texts), device=device), torch.tensor(starts, device=device)
        logits = self.model.extend(tokens, self._cache, slots, first, max(starts) + most)
        following = torch.log_softmax(logits[torch.arange(len(new), device=device), last], dim=-1)
        drawn = torch.multinomial(following.exp(), 1)
        found = torch.cat([drawn.float(), following.gather(1, drawn)], dim=1).tolist()
        for text, (token, log_probability) in zip(texts.values(), found, strict=True):
            text.append(int(token), log_probability, is_own=True)
