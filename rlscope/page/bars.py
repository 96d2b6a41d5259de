"""Bars of the page's part that needs no script."""

from collections.abc import Sequence

BAR = 300


def bar(share: float, colour: str) -> str:
    """Draw a bar as long as the share, from 0 to 1."""
    return stacked_bar([(share, colour)])


def stacked_bar(parts: Sequence[tuple[float, str]]) -> str:
    """Draw parts one behind the other, each as long as its share of the whole bar and in its colour of page.css."""
    rectangles, at = "", 0.0
    for share, colour in parts:
        rectangles += f'<rect class="fill-{colour}" x="{at:.1f}" width="{share * BAR:.1f}" height="18"/>'
        at += share * BAR
    box = f'viewBox="0 0 {BAR} 18" preserveAspectRatio="none"'
    return f'<svg class="bar" {box} aria-hidden="true">{rectangles}</svg>'
