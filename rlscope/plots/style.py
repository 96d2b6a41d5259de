"""This file holds the look of categories, resources and stages in figures: colour, hatch, label, place in the stack."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.model import NO_OPERATION, SYNCHRONISATION, TRAINING_LOOP, Category, Resource
from rlscope.outputs import MARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOURCE_COLOURS = {
    Resource.CPU.value: "#fbb4ae",
    Resource.BOTH.value: "#b3cde3",
    Resource.GPU.value: "#ccebc5",
    Resource.CPU_AND_COMMUNICATION.value: "#decbe4",
    Resource.COMMUNICATION.value: "#fed9a6",
    Resource.IDLE.value: "#f2f2f2",
}
RESOURCE_LABELS = {
    Resource.CPU.value: "CPU",
    Resource.BOTH.value: "CPU + GPU",
    Resource.GPU.value: "GPU",
    Resource.CPU_AND_COMMUNICATION.value: "CPU + communication",
    Resource.COMMUNICATION.value: "Communication",
    Resource.IDLE.value: "Idle",
}
#: What devices do alone.
GPU_ALONE = (Resource.GPU.value, Resource.COMMUNICATION.value)
# The category of time that correction turned GPU-only; whatever runs on GPUs alone is drawn without a hatch.
GPU_ONLY = "gpu"
CATEGORY_HATCHES = {
    Category.BACKEND.label: "......",
    Category.CUDA.label: "//////",
    Category.PYTHON.label: "\\\\\\\\\\\\",
    Category.SIMULATOR.label: "||||||",
    Category.WAIT.label: "-----",
    GPU_ONLY: "",
}
CATEGORY_LABELS = {
    Category.BACKEND.label: "Backend",
    Category.CUDA.label: "CUDA",
    Category.PYTHON.label: "Python",
    Category.SIMULATOR.label: "Simulator",
    Category.WAIT.label: "Wait",
}
#: What of a training loop is in no stage.
BETWEEN_STAGES = "between stages"
STAGE_LABELS = {
    "backpropagation": "Backpropagation",
    "inference": "Inference",
    "simulation": "Simulation",
    SYNCHRONISATION: "Synchronisation",
    TRAINING_LOOP: "Training loop",
    BETWEEN_STAGES: "Between stages",
    NO_OPERATION: "No operation",
}
# Bottom to top of a bar; legends list the same from top to bottom.
RESOURCE_ORDER = tuple(RESOURCE_COLOURS)
CATEGORY_ORDER = tuple(CATEGORY_HATCHES)
STAGE_ORDER = tuple(STAGE_LABELS)

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
