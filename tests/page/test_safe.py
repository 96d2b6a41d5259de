"""The page runs nothing but its own script, whatever a program named its operations, and shows the names as text."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from page_traces import page_of, training
from trace_builder import End, ProcessScript, ThreadScript, boundary, operation, write_scripts

from benchmarks.trace_writer import TraceWriter
from rlscope.model import Category

NAMES = (
    "</script><script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "__proto__",
    "constructor",
    "'\"&amp;`${alert(1)}",
    "left\u202eright",
    "]]>--><!--",
    "long " * 13_000,
)


def named() -> ProcessScript:
    """Operations and functions of these names, each of 1 ms."""
    thread = ThreadScript(0, 0)
    for number, name in enumerate(NAMES):
        begin, end = number * 1_000_000, (number + 1) * 1_000_000
        thread.statements += [operation(begin, name), boundary(begin, Category.BACKEND, name), End(end), End(end)]
    return ProcessScript(0, len(NAMES) * 1_000_000, threads=[thread])


def test_names_are_text(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(page_of(write_scripts([named()], tmp_path / "trace")))
    page.locator("#breakdown .name:text('in no operation')").click()
    page.locator("[role=tab]:text('Calls')").click()
    shown = page.evaluate("document.body.textContent")
    for name in NAMES:
        assert shown.count(name) >= 2
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "RL-Scope: trace"


def test_a_name_that_is_half_a_character_is_shown(tmp_path: Path, show: Callable[..., Any]) -> None:
    """JSON can say what no UTF-8 can: half of a surrogate pair, as the name of a process."""
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(name="half \ud83d")
    process.thread().begin_operation(0, "simulation")
    process.stop(1_000_000)
    page = show(page_of(writer.write()))
    assert page.locator("#timeline .labels li").first.inner_text() == "half \\ud83d"


def test_a_page_is_one_file_whose_policy_lets_its_own_script_run_alone(
    tmp_path: Path, show: Callable[..., Any]
) -> None:
    """The fixture fails for any request and any violation."""
    html = page_of(write_scripts([training(3)], tmp_path / "trace"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None and policy[1].startswith("default-src 'none'") and "unsafe" not in policy[1]
    assert html.count("<script") == 2 and "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "require-trusted-types-for 'script'" in policy[1] and "trusted-types 'none'" in policy[1]
    page = show(html)
    for key in ("c", "c", "c", "d", "]", "["):
        page.keyboard.press(key)


#: Makes the page of a trace in the year 2001, whatever a clock is asked that tells the time of day.
LONG_AGO = """
import datetime, functools, sys, time
from pathlib import Path

class Day(datetime.date):
    today = classmethod(lambda cls: cls(2001, 9, 9))

class Moment(datetime.datetime):
    now = today = utcnow = classmethod(lambda cls, zone=None: cls(2001, 9, 9, tzinfo=zone))

datetime.date, datetime.datetime = Day, Moment
for name in ("ctime", "gmtime", "localtime"):
    setattr(time, name, functools.partial(getattr(time, name), 1e9))
time.strftime = lambda form, at=time.gmtime(), strftime=time.strftime: strftime(form, at)
time.time, time.time_ns = (lambda: 1e9), (lambda: 10**18)
sys.path[:] = sys.argv[2:]
from page_traces import page_of
Path("page.html").write_text(page_of(Path(sys.argv[1])))
"""


def test_equal_traces_make_equal_pages(tmp_path: Path) -> None:
    """On another day, too, and where sets have another order."""
    here, there = (write_scripts([training(4, 2, device=True)], tmp_path / str(n) / "trace") for n in range(2))
    command = [sys.executable, "-c", LONG_AGO, str(there), *sys.path]
    # The order of sets in this process is a random one, and that is one of the other's.
    for seed in ("1", "2"):
        subprocess.run(command, cwd=tmp_path, env={"PYTHONHASHSEED": seed}, check=True)
        assert (tmp_path / "page.html").read_text() == page_of(here)
