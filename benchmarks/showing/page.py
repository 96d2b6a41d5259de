"""This file measures rlscope's page: its size, how long making and opening it take, and how fast its timeline moves."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from benchmarks import OUTPUT
from benchmarks.analyzing.analyze_once import Cost, cost_of_analysis, cost_of_module
from benchmarks.analyzing.chrome_trace import write_chrome_trace
from benchmarks.result import Target, Value, print_results, results
from benchmarks.showing.browser import MOVES, PLOTLY_DRAWING, RLSCOPE_DRAWING, Opened, chromium, opened
from benchmarks.showing.traces import HUGE, PPO, TIMESTEPS, TRACES, contents
from benchmarks.timing import median

MIB = 1 << 20
MEGABYTE = 1_000_000
REPEATS = 5
PEER_REPEATS = 3
PEER_EVENTS = 100_000
HTA = f"HolisticTraceAnalysis, {PEER_EVENTS:,} events"
SIZE, MEMORY, RATIO = Target(5), Target(150), Target(1.3)
FIRST_PAINT, FIRST_TIMELINE, FRAME = Target(200), Target(1000), Target(16.7)
NO_DRAWING = "VizTracer's page needs scripts from a network to show anything, and gets none here"


@dataclass(frozen=True)
class Measured:
    """A page: its size, what making it took each time, and how it opened each time."""

    megabytes: float
    costs: Sequence[Cost]
    openings: Sequence[Opened]

    @property
    def seconds(self) -> Value:
        """Time of making it, with what it is made of in the page cache."""
        return median([cost.elapsed_ns / 1e9 for cost in self.costs])

    @property
    def first_paint_ms(self) -> Value:
        """Time until it shows text or a picture."""
        return median([opening.first_paint_ms for opening in self.openings])

    @property
    def drawn_ms(self) -> Value:
        """Time until it shows its first drawing."""
        return median([opening.drawn_ms for opening in self.openings])

    def frame_ms(self, percentile: float) -> Value:
        """Time of the moves of an opening that is longer than that of so many per cent of them."""
        return median([float(np.percentile(opening.frames_ms, percentile)) for opening in self.openings])


def measured(
    make: Callable[[], Cost], path: Path, repeats: int, open_it: Callable[[Path], Opened] | None = None
) -> Measured:
    """Make a page several times, and open it as often if it draws anything; then it is deleted."""
    costs = [make() for _ in range(repeats)]
    openings = [open_it(path) for _ in range(repeats)] if open_it else []
    megabytes = path.stat().st_size / MEGABYTE
    path.unlink()
    return Measured(megabytes, costs, openings)


def pages_of_peers(browser: Browser, trace: Path, path: Path) -> dict[str, Measured]:
    """Make the pages that others make of the same training, or of a trace of their own."""

    def once(module: str, source: object) -> Callable[[], Cost]:
        return lambda: cost_of_module(f"benchmarks.showing.{module}", str(source), str(path))

    def open_plotly(page: Path) -> Opened:
        return opened(browser, page, PLOTLY_DRAWING)

    chrome = path.with_name("chrome")
    write_chrome_trace(chrome, PEER_EVENTS)
    found = {
        "VizTracer, 1,000,000 calls": measured(once("viztracer_page", TIMESTEPS), path, 1),
        "plotly, the same bins": measured(once("plotly_page", trace), path, PEER_REPEATS, open_plotly),
        HTA: measured(once("hta_page", chrome), path, PEER_REPEATS, open_plotly),
    }
    shutil.rmtree(chrome)
    return found


def print_page(name: str, note: str, page: Measured, analyses: Sequence[Cost], peers: dict[str, Measured]) -> None:
    """Print what was measured of the page of a trace."""
    drawing = {peer: found for peer, found in peers.items() if found.openings}
    without = NO_DRAWING if len(drawing) < len(peers) else None
    ratios = [made.elapsed_ns / analyzed.elapsed_ns for made, analyzed in zip(page.costs, analyses, strict=True)]
    peak = median([cost.peak_bytes / MIB for cost in page.costs])
    sizes = {peer: Value(found.megabytes) for peer, found in peers.items()}
    times = {peer: found.seconds for peer, found in peers.items()}
    paints = {peer: found.first_paint_ms for peer, found in drawing.items()}
    drawings = {peer: found.drawn_ms for peer, found in drawing.items()}
    print_results(results(f"page of {name}", "MB", Value(page.megabytes), sizes, SIZE, note))
    print_results(results(f"page of {name}, making it", "s", page.seconds, times))
    target = RATIO if name == HUGE else None
    print_results(results(f"page of {name}, making it to analyze", "x", median(ratios), target=target))
    print_results(results(f"page of {name}, peak memory", "MiB", peak, target=MEMORY))
    print_results(results(f"page of {name}, first paint", "ms", page.first_paint_ms, paints, FIRST_PAINT, without))
    print_results(results(f"page of {name}, first timeline", "ms", page.drawn_ms, drawings, FIRST_TIMELINE))
    print_results(results(f"page of {name}, frame, median", "ms", page.frame_ms(50)))
    print_results(results(f"page of {name}, frame, 95th percentile", "ms", page.frame_ms(95), target=FRAME))


def measure(browser: Browser, name: str, write: Callable[[Path], object], room: Path) -> None:
    """Make a trace and its page, and print what that took; analyses and pages are made in turns."""
    trace, path = room / "trace", room / "page.html"
    write(trace)
    analyses: list[Cost] = []

    def make() -> Cost:
        analyses.append(cost_of_analysis(trace))
        return cost_of_module("benchmarks.showing.rlscope_page", str(trace), str(path))

    page = measured(make, path, REPEATS, lambda page: opened(browser, page, RLSCOPE_DRAWING, MOVES))
    peers = pages_of_peers(browser, trace, path) if name == PPO else {}
    print_page(name, contents(trace), page, analyses, peers)
    shutil.rmtree(trace)


def main() -> None:
    """Measure the page of each trace."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory, chromium() as browser:
        for name, write in TRACES.items():
            measure(browser, name, write, Path(directory))


if __name__ == "__main__":
    main()
