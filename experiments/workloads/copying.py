"""This file holds the task of the language models: they are to copy a word, and a verifier compares the letters."""

import random

#: Each character is a token by its place here. "=" ends a prompt, "?" asks the tool for a letter, "." ends an answer.
ALPHABET = "abcdefghijklmnopqrstuvwxyz=?."
LETTERS = ALPHABET[:26]
ASK, END = ALPHABET.index("?"), ALPHABET.index(".")
WORD_LENGTH = 6
PROMPT_LENGTH = WORD_LENGTH + 1


def make_word(generator: random.Random) -> str:
    """Return random letters."""
    return "".join(generator.choices(LETTERS, k=WORD_LENGTH))


def prompt_of(word: str) -> str:
    """Return what the model is asked: "wombat=" for "wombat"."""
    return f"{word}="


def encoded(text: str) -> list[int]:
    """Return the tokens of a text."""
    return [ALPHABET.index(character) for character in text]


def answer_of(tokens: list[int]) -> str:
    """Return what tokens after a prompt say, without those that end or ask."""
    return "".join(ALPHABET[token] for token in tokens if token not in (ASK, END))


def reward(word: str, answer: str) -> float:
    """Return what an answer is worth, from 0 to 1: half for its length, half for the letters that are right.

    Of "wombat" it is 1/4 + 1/4 for "wom", which has half of the length and of the letters, and 1/2 + 0 for "xxxxxx".
    """
    longest = max(len(answer), len(word))
    right = sum(given == wanted for given, wanted in zip(answer, word, strict=False))
    return (min(len(answer), len(word)) + right) / longest / 2
