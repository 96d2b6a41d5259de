"""This file gives scripts and styles of pages the vocabulary: names in their order, and the colours of categories."""

import json

from rlscope.model import CATEGORIES, GPU_ONLY, STAGES, TRAINING_LOOP, LifePart, Stage


def vocabulary_script() -> str:
    """Return the module that `web/vocabulary.d.ts` declares."""
    stages = [Stage(name) for name in (*STAGES, TRAINING_LOOP, Stage.NONE)]
    constants = {
        "LIFE_PARTS": [part.value for part in LifePart],
        "LOOP": LifePart.LOOP.value,
        "CATEGORIES": [*CATEGORIES, GPU_ONLY],
        "STAGES": [stage.value for stage in stages],
        "STAGE_COLOURS": [[stage.value, stage.colour] for stage in stages],
    }
    return "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants.items())


def category_styles() -> str:
    """Return the colour of each category, on a light page and on a dark one, and what has it."""
    light = " ".join(f"--{label}: {category.light};" for label, category in CATEGORIES.items())
    dark = " ".join(f"--{label}: {category.dark};" for label, category in CATEGORIES.items())
    rules = "".join(
        f".fill-{label} {{ fill: var(--{label}); }} .key-{label} {{ border-left-color: var(--{label}); }}\n"
        for label in CATEGORIES
    )
    return (
        f":root {{ {light} }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f':root[data-theme="dark"] {{ {dark} }}\n{rules}'
    )
