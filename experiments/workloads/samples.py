"""This file holds the samples that a language model is trained on: answers to prompts, each with its reward."""

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import copying
from copying import PROMPT_LENGTH, answer_of, encoded, make_word, prompt_of
from token_engine import Text

import rlscope


@dataclass(eq=False, kw_only=True)
class Sample(Text):
    """An answer on its way.

    Attributes:
        word: to be copied.
        group: the samples of one prompt share it.
        version: of the weights with which it began: how many updates these have seen.
        start_s: when it began, by the stopwatch's clock.
        end_s: when it was complete.
        reward: from 0 to 1.
        is_discarded: whether it was too old to be trained on.
    """

    word: str
    group: int
    version: int
    start_s: float
    end_s: float = 0.0
    reward: float = 0.0
    is_discarded: bool = False

    @property
    def length(self) -> int:
        """Return how many tokens follow the prompt."""
        return len(self.tokens) - PROMPT_LENGTH

    def judge(self) -> None:
        """Let the verifier look at it: it is complete."""
        self.reward = copying.reward(self.word, answer_of(self.tokens[PROMPT_LENGTH:]))
        self.end_s = time.perf_counter()

    def report(self, is_discarded: bool) -> None:
        """Tell RL-Scope of it, and what becomes of it."""
        self.is_discarded = is_discarded
        rlscope.report_sample("copy", version=self.version, tokens=self.length, discarded=is_discarded)

    def row(self) -> dict[str, Any]:
        """Return what a workload prints of it."""
        about = {"version": self.version, "tokens": self.length, "discarded": self.is_discarded}
        return {"start_s": self.start_s, "end_s": self.end_s, **about}


class Prompts:
    """Makes words to copy, and begins samples of them."""

    def __init__(self, seed: int, prompts: int, group: int) -> None:
        self._generator, self._prompts, self._group, self._groups = random.Random(seed), prompts, group, 0

    def group(self, version: int) -> list[Sample]:
        """Return the samples of one new word."""
        word, now = make_word(self._generator), time.perf_counter()
        self._groups += 1
        return [
            Sample(encoded(prompt_of(word)), word=word, group=self._groups, version=version, start_s=now)
            for _ in range(self._group)
        ]

    def batch(self, version: int) -> list[Sample]:
        """Return the samples of an iteration."""
        return [sample for _ in range(self._prompts) for sample in self.group(version)]


def group_advantages(samples: Sequence[Sample]) -> list[float]:
    """Return how much better each sample is than those of its word, in standard deviations of these.

    Of two samples of a word with the rewards 0.2 and 0.6 the advantages are -1 and 1.
    """
    rewards: dict[int, list[float]] = {}
    for sample in samples:
        rewards.setdefault(sample.group, []).append(sample.reward)
    scales = {group: (statistics.fmean(each), statistics.pstdev(each) + 1e-4) for group, each in rewards.items()}
    return [(sample.reward - scales[sample.group][0]) / scales[sample.group][1] for sample in samples]
