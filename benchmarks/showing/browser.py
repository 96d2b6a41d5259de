"""This file opens a page in headless Chromium and measures when it shows something, and how fast it moves."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = "/usr/bin/chromium-headless-shell"
#: Frames follow each other as fast as they are made, not every 16.7 ms, so that a frame's own time is seen.
ARGUMENTS = ("--no-sandbox", "--disable-frame-rate-limit", "--disable-gpu-vsync")
VIEW = {"width": 1600, "height": 1000}
LIMIT_MS = 120_000

#: What is there once a page has drawn: in rlscope's, and in one of plotly's.
RLSCOPE_DRAWING, PLOTLY_DRAWING = "html[data-ready=yes]", ".main-svg .trace path"
#: Moves of rlscope's timeline: to a part 650 times as short (1.5 ** 16), through half of a minute's run, and back.
MOVES = ("in",) * 16 + ("right",) * 40 + ("out",) * 16 + ("left",) * 40

#: The frame that first holds the drawing is over when the next one begins.
NOTE_DRAWN = """(() => {
  const note = () => (window.drawnAt = performance.now());
  const look = () => requestAnimationFrame(document.querySelector("%s") ? note : look);
  requestAnimationFrame(look);
})()"""
#: Without an expression to be evaluated later, which the policy of rlscope's page refuses.
OPENED = """async (limit) => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  while (window.drawnAt === undefined || painted() === undefined) {
    if (performance.now() > limit) throw Error(`nothing was drawn in ${limit} ms`);
    await new Promise((done) => setTimeout(done, 20));
  }
  return [painted(), window.drawnAt];
}"""
FRAMES = """async (moves) => {
  const canvas = document.querySelector("canvas.timeline");
  const box = canvas.getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + 30 };
  const wheel = (deltaY) => new WheelEvent("wheel", { ctrlKey: true, deltaY, cancelable: true, ...middle });
  const arrow = (side) => new KeyboardEvent("keydown", { key: `Arrow${side}`, cancelable: true });
  const events = { in: () => wheel(-1), out: () => wheel(1), left: () => arrow("Left"), right: () => arrow("Right") };
  const frame = () => new Promise((done) => requestAnimationFrame(() => done(performance.now())));
  const times = [];
  let before = await frame();
  for (const move of moves) {
    canvas.dispatchEvent(events[move]());
    const now = await frame();
    times.push(now - before);
    before = now;
  }
  return times;
}"""


@dataclass(frozen=True)
class Opened:
    """This is how a page opened and moved, in milliseconds; the first two since the browser was told its address.

    Attributes:
        first_paint_ms: When it first showed text or a picture.
        drawn_ms: When its first drawing was shown.
        frames_ms: How long each move took, until the next frame.
    """

    first_paint_ms: float
    drawn_ms: float
    frames_ms: tuple[float, ...]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser.

    Raises:
        FileNotFoundError: it is not installed.
    """
    if not Path(CHROMIUM).exists():
        raise FileNotFoundError(f"{CHROMIUM}: expected a browser, found none; apt-get install chromium-headless-shell")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(browser: Browser, path: Path, drawing: str, moves: Sequence[str] = ()) -> Opened:
    """Open a page without a network, and move in its timeline.

    Args:
        browser: the one that `chromium` started.
        path: the page's file.
        drawing: selects what is there once the page has drawn.
        moves: of rlscope's timeline: `in`, `out`, `left`, `right`.

    Raises:
        playwright.sync_api.Error: after two minutes it has not drawn.
        RuntimeError: a script of the page failed.
    """
    context = browser.new_context(viewport=VIEW, offline=True)
    try:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_init_script(NOTE_DRAWN % drawing)
        page.goto(path.as_uri(), timeout=LIMIT_MS)
        first_paint_ms, drawn_ms = page.evaluate(OPENED, LIMIT_MS)
        frames = page.evaluate(FRAMES, list(moves)) if moves else []
        if errors:
            raise RuntimeError(f"{path}: expected a page without errors, found {len(errors)}: {errors[0]}")
        return Opened(first_paint_ms, drawn_ms, tuple(frames))
    finally:
        context.close()
