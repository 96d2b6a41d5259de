"""This file holds a small language model with a cache of keys and values, made of random weights."""

import torch
from torch import Tensor, nn
from torch.nn import functional

HEAD_WIDTH = 16


class Block(nn.Module):
    """Attention and a perceptron, each on top of what came in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(1, width // max(HEAD_WIDTH, width // 16))
        self.before_attention, self.before_perceptron = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def split(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each of shape (batch, heads, tokens, width of a head)."""
        batch, tokens, width = hidden.shape
        parts = self.queries_keys_values(self.before_attention(hidden))
        queries, keys, values = parts.view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        return queries, keys, values

    def join(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """Return what the block makes of what came in, and of what was attended to."""
        hidden = hidden + self.mix(attended.transpose(1, 2).flatten(2))
        return hidden + self.perceptron(self.before_perceptron(hidden))


class LanguageModel(nn.Module):
    """A transformer whose output layer is its embedding of tokens.

    Args:
        vocabulary: the number of tokens.
        longest: the most tokens of a text.
        layers: blocks.
        width: of the vector of a token.
    """

    def __init__(self, vocabulary: int, longest: int, layers: int, width: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.blocks = [Block(width) for _ in range(layers)]
        self.registered = nn.ModuleList(self.blocks)
        self.last = nn.LayerNorm(width)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def new_cache(self, slots: int, longest: int) -> Tensor:
        """Return an empty cache, of shape (layers, keys and values, slots, heads, tokens, width of a head)."""
        heads = self.blocks[0].heads
        shape = (len(self.blocks), 2, slots, heads, longest, self.tokens.embedding_dim // heads)
        return torch.zeros(shape, device=self.tokens.weight.device)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits that follow each token of whole texts, of shape (batch, tokens, vocabulary)."""
        hidden = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            queries, keys, values = block.split(hidden)
            attended = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
            hidden = block.join(hidden, attended)
        return functional.linear(self.last(hidden), self.tokens.weight)

    def extend(self, tokens: Tensor, cache: Tensor, slots: Tensor, starts: Tensor, reach: int) -> Tensor:
        """Return the same of texts of which the cache holds the beginning, and add the rest to the cache.

        Args:
            tokens: the rest of each text, of shape (batch, tokens); what is only padding is written over later.
            cache: of earlier calls.
            slots: the place of each text in the cache.
            starts: how many tokens of each text the cache holds.
            reach: no text has more tokens afterwards.
        """
        places = starts[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        is_seen = (places[:, :, None] >= torch.arange(reach, device=tokens.device))[:, None]
        hidden = self.tokens(tokens) + self.positions(places)
        for block, (old_keys, old_values) in zip(self.blocks, cache, strict=True):
            queries, keys, values = block.split(hidden)
            old_keys[slots[:, None], :, places] = keys.transpose(1, 2)
            old_values[slots[:, None], :, places] = values.transpose(1, 2)
            keys, values = (old[slots, :, :reach] for old in (old_keys, old_values))
            attended = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=is_seen)
            hidden = block.join(hidden, attended)
        return functional.linear(self.last(hidden), self.tokens.weight)

    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return that of each token but the first, given those before it, of shape (batch, tokens - 1)."""
        every = torch.log_softmax(self(tokens[:, :-1]), dim=-1)
        return every.gather(-1, tokens[:, 1:, None]).squeeze(-1)

    def flat_weights(self) -> Tensor:
        """Return a copy of all weights in one vector."""
        return torch.cat([weight.detach().flatten() for weight in self.parameters()])

    @torch.no_grad()
    def load(self, flat: Tensor) -> None:
        """Take over weights from such a vector."""
        parts = flat.split([weight.numel() for weight in self.parameters()])
        for weight, part in zip(self.parameters(), parts, strict=True):
            weight.copy_(part.view_as(weight))
