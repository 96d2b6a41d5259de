"""One flipped bit in a finished file: it is refused, or nothing that anybody reads from the file is another."""

import random
from collections import Counter
from pathlib import Path

import pytest
from calls import chunks_in
from recording import call_here, record

from rlscope import _analysis
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.calibration.calibration import Calibration, conditions_of_trace, save
from rlscope.errors import TraceFormatError
from rlscope.trace import format as fmt
from rlscope.trace.reader import open_trace

#: Of random bits, each by itself.
FLIPS_IN_PAYLOADS = 10_000
FLIPS_IN_SIDE_FILES = 500

COST = Cost(Bounds(1.0, 1.0, 1.0), Bounds(0.0, 0.0, 0.0), Bounds(2.0, 2.0, 2.0), events=1000)
# Long enough for samples of utilisation.
KILLS_A_CHILD = """
import subprocess, sys, time

time.sleep(1.5)
subprocess.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of the recorder with several threads, names, properties and stacks."""
    recording = record(tmp_path_factory.mktemp("flips") / "trace", "two_streams.py", options=("--no-auto", "--lines"))
    (file,) = recording.files
    return file.read_bytes()


class Reader:
    def __init__(self, data: bytes, directory: Path) -> None:
        self._data = bytearray(data)
        self._path = directory / "1-0.rlscope"
        self._path.write_bytes(data)
        self._whole = self._read()

    def _read(self) -> object:
        return _analysis.header(self._path), _analysis.sweep(self._path)

    def is_refused_or_the_same(self, byte: int, bit: int) -> bool:
        with self._path.open("r+b") as file:
            file.seek(byte)
            file.write(bytes([self._data[byte] ^ 1 << bit]))
            file.flush()
            try:
                is_same = self._read() == self._whole
            except TraceFormatError:
                is_same = True
            file.seek(byte)
            file.write(self._data[byte : byte + 1])
        return is_same


def test_of_a_header(data: bytes, tmp_path: Path) -> None:
    reader = Reader(data, tmp_path)
    heads = [(0, fmt.FILE_HEADER.size)] + [(at, header.payload_offset) for at, header in chunks_in(data)]
    assert {header.kind for _, header in chunks_in(data)} >= {
        fmt.ChunkKind.EVENTS,
        fmt.ChunkKind.CATALOG,
        fmt.ChunkKind.STACKS,
    }
    bits = [(at + byte, bit) for at, size in heads for byte in range(size) for bit in range(8)]
    assert [place for place in bits if not reader.is_refused_or_the_same(*place)] == []


def test_of_a_payload(data: bytes, tmp_path: Path) -> None:
    reader = Reader(data, tmp_path)
    places = [
        byte
        for at, header in chunks_in(data)
        for byte in range(at + header.payload_offset, at + header.payload_offset + header.payload_bytes)
    ]
    chance = random.Random(5)
    bits = [(chance.choice(places), chance.randrange(8)) for _ in range(FLIPS_IN_PAYLOADS)]
    assert [place for place in bits if not reader.is_refused_or_the_same(*place)] == []


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with all files that lie beside the events: of a run whose second process is killed, corrected."""
    home = tmp_path_factory.mktemp("side")
    directory = home / "trace"
    script = directory.with_name("kills_a_child.py")
    script.write_text(KILLS_A_CHILD)
    assert record(directory, str(script)).returncode == 0
    opened = open_trace(directory)
    made_on = conditions_of_trace(opened.manifest, opened.processes[0].clock_kind.name.lower())
    costs = {"operation": COST, "boundary": COST}
    save(Calibration(made_on, "2026-01-02T03:04:05Z", {}, costs), home / "calibration.json")
    return directory


def test_of_a_file_beside_the_events(trace: Path) -> None:
    """It is refused, or told by the file's name, or all tables are as they were."""
    calibration = trace.parent / "calibration.json"
    analyze = ("analyze", trace, "--json", "--correct", calibration)
    whole = call_here(*analyze)
    assert whole.returncode == 0, whole.stderr
    names = ("manifest.json", "config.json", "utilization.csv", "deaths.json")
    files = [calibration, *(trace / name for name in names)]
    chance = random.Random(7)
    outcomes = Counter[str]()
    for flip in range(FLIPS_IN_SIDE_FILES):
        path = files[flip % len(files)]
        before = path.read_bytes()
        place, bit = chance.randrange(len(before)), chance.randrange(8)
        path.write_bytes(before[:place] + bytes([before[place] ^ 1 << bit]) + before[place + 1 :])
        found = call_here(*analyze)
        path.write_bytes(before)
        if found.returncode == 0:
            is_told = path.name in found.stderr and path.name not in whole.stderr
            assert is_told or found.stdout == whole.stdout, (path.name, place, bit)
            outcomes["told" if is_told else "the same"] += 1
        else:
            assert found.returncode == 2 and path.name in found.stderr, (path.name, place, bit, found.stderr)
            outcomes["refused"] += 1
    assert outcomes["refused"] > FLIPS_IN_SIDE_FILES / 2, outcomes
