"""Bytes that several processes wrote to one pipe are shared by what each of them wrote."""

from pathlib import Path

from trace_builder import parse_script, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

READS = (
    "process stop=100\nthread 0\n10 + wait:posix.read pipe:[3]\n20 -\n"
    + 4 * "20 message posix.read pipe:[3] bytes 250\n"
)
WRITES = "process stop=100\nthread 0\n0 + inference\n10 message posix.write pipe:[3] bytes {}\n90 -\n"
ALONE = "process stop=100\nthread 0\n10 message posix.write pipe:[4] bytes 7\n"


def test_readers_have_of_each_writer_what_it_wrote(tmp_path: Path) -> None:
    scripts = [READS, WRITES.format(300), WRITES.format(700), ALONE]
    analysis = analyze(open_trace(write_scripts([parse_script(text) for text in scripts], tmp_path)))
    main, first, second, alone = (process.process for process in analysis.processes)
    assert {(row.process, row.peer, row.is_sent): (row.count, row.bytes) for row in analysis.messages} == {
        (main, first, False): (1, 300),
        (main, second, False): (3, 700),
        (first, main, True): (1, 300),
        (second, main, True): (1, 700),
        (alone, "", True): (1, 7),
    }
