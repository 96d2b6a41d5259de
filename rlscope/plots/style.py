"""This file holds the look of categories, resources and stages in figures: colour, hatch, label, place in the stack."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.analysis.correction.corrected import DEVICES_ALONE
from rlscope.model import CATEGORIES, GPU_ONLY, STAGES, Resource, Stage
from rlscope.outputs import MARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What devices do alone.
GPU_ALONE = tuple(DEVICES_ALONE.values())
#: What of a training loop is in no stage.
BETWEEN_STAGES = "between stages"
# Bottom to top of a bar; legends list the same from top to bottom.
RESOURCE_ORDER = tuple(resource.value for resource in Resource)
CATEGORY_ORDER = (*sorted(CATEGORIES), GPU_ONLY)
STAGE_ORDER = (*sorted(STAGES), Stage.TRAINING_LOOP.value, BETWEEN_STAGES, Stage.NONE.value)
RESOURCE_COLOURS = {resource.value: resource.colour for resource in Resource}
RESOURCE_LABELS = {resource.value: resource.words for resource in Resource}
# Whatever runs on GPUs alone is drawn without a hatch.
CATEGORY_HATCHES = {label: category.hatch for label, category in CATEGORIES.items()} | {GPU_ONLY: ""}
CATEGORY_LABELS = {label: category.words for label, category in CATEGORIES.items()}
STAGE_LABELS = {stage.value: stage.words for stage in Stage} | {BETWEEN_STAGES: "Between stages"}

TOTALS_TO_BARS = (1, 2.5)  # heights of the upper and the lower panel
COLUMN_INCHES = 4.3  # width of the bars' area for up to four workloads: one column of a paper
PANEL_INCHES = 3.25  # height of both panels
MARGIN_INCHES = 0.1  # around what is drawn


def paper() -> AbstractContextManager[None]:
    """Return the matplotlib settings of every figure; text stays text in PDF and SVG, equal input gives equal bytes."""
    import matplotlib as mpl  # whoever asks for a look alone need not wait for it

    return mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": 8,
            "axes.linewidth": 0.8,
            "hatch.linewidth": 0.5,
            "pdf.fonttype": 42,
            "svg.fonttype": "none",
            "svg.hashsalt": "rlscope",
            "savefig.dpi": 200,
        }
    )


@contextmanager
def unknown_glyphs() -> Iterator[None]:
    """Let a name have characters that the font lacks: a box is drawn for each, and no warning printed for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def save_figure(figure: "Figure", *paths: Path) -> None:
    """Write the figure in the formats that the files' names end in, cut to what is drawn, with rlscope's mark in place
    of the date of writing.

    What is drawn is found once for all formats, in the resolution of pixels.
    """
    metadata = {
        ".pdf": {"Creator": MARK, "CreationDate": None},
        ".svg": {"Creator": MARK, "Date": None},
        ".png": {"Software": MARK},
    }
    with paper(), unknown_glyphs():
        if figure.get_layout_engine() is not None:  # as in `Figure(layout="constrained")`: places axes when it draws
            figure.draw_without_rendering()
        area = figure.get_tightbbox().padded(MARGIN_INCHES)
        for path in paths:
            figure.savefig(path, bbox_inches=area, metadata=metadata.get(path.suffix, {}))
