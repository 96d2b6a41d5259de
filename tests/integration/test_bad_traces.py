"""Traces that are missing, damaged, foreign or still growing: one line that says what and where, or what is left."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from calls import chunks_in
from recording import RLSCOPE, call_here, environment, rlscope

from benchmarks import trace_entries
from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.model import Category
from rlscope.plots import figure_files
from rlscope.trace import format as fmt
from rlscope.version import FORMAT_VERSION

MS = 1_000_000
CHUNKS = 4
VERBS = ("analyze", "inspect", "report")
RECOVERING = [("analyze", "--recover"), ("inspect", "--recover"), ("report", "--recover")]


@pytest.fixture(autouse=True)
def one_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """These reports are many, and drawing each figure once more for every format tells nothing about traces."""
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    monkeypatch.setenv("COLUMNS", "1000")  # of a path that is longer than a line, the middle is left out


def run(verb: str, trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the command does, in this process."""
    return call_here(verb, trace, *(("-o", trace.parent / "report") if verb == "report" else ()), *options)


def error_of(verb: str, trace: Path, *options: str, is_command: bool = False) -> str:
    """The one line on stderr of a run that must fail."""
    if is_command:
        finished = rlscope(verb, trace, *options, *(("-o", trace.parent / "report") if verb == "report" else ()))
    else:
        finished = run(verb, trace, *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    lines = finished.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("rlscope: error: "), finished.stderr
    return lines[0]


def sample() -> ProcessWriter:
    """One thread, four chunks; chunk n holds 8 ms of backend time in operation n, from 10 n ms."""
    process = TraceWriter(Path()).process(pid=41)
    process.properties({"process_name": "sample"})
    thread = process.thread()
    thread.begin_operation(0, "training_loop")
    for chunk in range(CHUNKS):
        if chunk:
            thread.new_chunk()
        start = 10 * chunk * MS
        thread.begin_operation(start, f"step {chunk}")
        thread.boundary(start + MS, start + 9 * MS, Category.BACKEND, "linear")
        thread.end(start + 9 * MS)
    thread.end(10 * CHUNKS * MS)
    process.stop(10 * CHUNKS * MS)
    return process


SOUND = sample().to_bytes()
MANIFEST = {"format_version": 3, "complete": True, "command": ["python"], "main_pid": 41, "exit_status": 0}


def trace_with(directory: Path, data: bytes | None, manifest: object = MANIFEST) -> Path:
    trace = directory / "trace"
    trace.mkdir()
    if data is not None:
        (trace / "41-0.rlscope").write_bytes(data)
    if manifest is not None:
        (trace / "manifest.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    return trace


#: Where the thread's chunks begin in SOUND, and their records; and where the catalog does.
OF_THREAD = [(at, header) for at, header in chunks_in(SOUND) if header.kind == fmt.ChunkKind.EVENTS]
CHUNK_AT = [at for at, _ in OF_THREAD]
PAYLOAD_AT = [at + header.payload_offset for at, header in OF_THREAD]
(CATALOG_AT,) = (at for at, header in chunks_in(SOUND) if header.kind == fmt.ChunkKind.CATALOG)


def flipped(offset: int, bit: int = 2) -> bytes:
    return SOUND[:offset] + bytes([SOUND[offset] ^ 1 << bit]) + SOUND[offset + 1 :]


def recovered(trace: Path) -> tuple[dict[str, float], str]:
    """Milliseconds of backend time by operation, and what the verbs with --recover say is missing."""
    analyzed = run("analyze", trace, "--recover", "--json")
    assert (analyzed.returncode, analyzed.stderr) == (0, "")
    document = json.loads(analyzed.stdout)
    inspected = json.loads(run("inspect", trace, "--recover", "--json").stdout)
    assert not document["complete"] and document["why"] == inspected["why"] != []
    warnings = []
    for verb, option in RECOVERING:
        finished = run(verb, trace, option)
        assert (finished.returncode, finished.stderr) == (0, "")
        shown = finished.stdout if verb != "report" else (trace.parent / "report" / "index.html").read_text()
        assert "incomplete" in shown
        warnings.append(shown)
    seconds = {
        row["operation"]: round(1000 * row["seconds"], 3)
        for row in document["breakdown"]
        if row["category"] == "backend"
    }
    return seconds, "\n".join(warnings)


def test_the_sound_one_is_sound(tmp_path: Path) -> None:
    trace = trace_with(tmp_path, SOUND)
    document = json.loads(run("analyze", trace, "--json").stdout)
    assert document["complete"] and len(document["breakdown"]) == 2 * CHUNKS + 1
    assert "complete: nothing is known to be missing" in run("inspect", trace).stdout
    assert run("report", trace).returncode == 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("options", [(), ("--recover",)], ids=["strict", "recover"])
def test_no_trace(verb: str, options: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert f"expected at {missing}" in error_of(verb, missing, *options)
    file = tmp_path / "file"
    file.write_text("x")
    assert f"{file} is a file" in error_of(verb, file, *options)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no PID-N.rlscope file" in error_of(verb, empty, *options)
    assert "holds no PID-N.rlscope file" in error_of(verb, trace_with(tmp_path, None), *options)
    assert not (tmp_path / "report").exists()


CUTS: list[tuple[str, int]] = [
    ("nothing", 0),
    ("inside the magic", 5),
    ("inside the header", 100),
    ("inside the header's page", 2000),
    ("inside a chunk's header", CHUNK_AT[2] + 30),
    ("inside a chunk's records", PAYLOAD_AT[2] + 3),
    ("behind a chunk's records", CHUNK_AT[3] - 5),
    ("between chunks", CHUNK_AT[2]),
]


@pytest.mark.parametrize(
    ("size", "is_header"), [(size, size < fmt.FILE_HEADER_BYTES) for _, size in CUTS], ids=dict(CUTS)
)
def test_cut_short(size: int, is_header: bool, tmp_path: Path) -> None:
    trace = trace_with(tmp_path, SOUND[:size])
    path = trace / "41-0.rlscope"
    if is_header:
        for verb in VERBS:
            for options in ((), ("--recover",)):
                assert str(path) in error_of(verb, trace, *options)
        return
    for verb in VERBS:
        assert f"{path} is damaged at byte {size}: " in error_of(verb, trace)
    found, shown = recovered(trace)
    assert found["step 0"] == found["step 1"] == 8
    assert "step 3" not in found
    assert shown.count(f"is damaged at byte {size}: ") == len(VERBS)


@pytest.mark.parametrize(
    ("offset", "damaged", "what"),
    [
        (PAYLOAD_AT[2] + 1, CHUNK_AT[2], "the checksum of chunk 2 of thread 0"),
        (CHUNK_AT[2], CHUNK_AT[2], "a chunk (0x4b4e4843) was expected"),
        (CHUNK_AT[2] + 8, CHUNK_AT[2], "not a multiple of 64"),
        (CHUNK_AT[2] + 28, None, "was expected, chunk"),
        (CATALOG_AT + trace_entries.CHUNK_HEADER.size + 12, CATALOG_AT, "the checksum of the catalog"),
    ],
    ids=["payload", "magic", "size", "sequence", "catalog"],
)
def test_a_flipped_bit(offset: int, damaged: int | None, what: str, tmp_path: Path) -> None:
    trace = trace_with(tmp_path, flipped(offset))
    for verb in VERBS:
        line = error_of(verb, trace, is_command="checksum of chunk" in what)
        assert f"{trace / '41-0.rlscope'} is damaged at byte {damaged or ''}" in line and what in line
    found, shown = recovered(trace)
    assert found["step 0"] == found["step 1"] == 8
    assert shown.count(what.replace(">", "&gt;")) >= len(VERBS)


@pytest.mark.parametrize(("offset", "bit"), [(16, 3), (20, 6), (12, 0)], ids=["clock", "shift", "size"])
def test_a_flipped_bit_of_the_header(offset: int, bit: int, tmp_path: Path) -> None:
    """Without the header nothing of the file can be read; other files can."""
    trace = trace_with(tmp_path, flipped(offset, bit))
    for verb in VERBS:
        for options in ((), ("--recover",)):
            assert f"{trace / '41-0.rlscope'} is damaged at byte {offset}: " in error_of(verb, trace, *options)
    (trace / "42-0.rlscope").write_bytes(SOUND)
    found, shown = recovered(trace)
    assert found["step 3"] == 8
    assert shown.count(f"41-0.rlscope is damaged at byte {offset}: ") == len(VERBS)


def test_clock_readings_that_cannot_be(tmp_path: Path) -> None:
    process = sample()
    pair = fmt.ClockPair(100, 100, 100)
    process.header = replace(
        process.header, clock=fmt.ClockKind.TSC, first_pair=pair, last_pair=replace(pair, ticks=500)
    )
    trace = trace_with(tmp_path, process.to_bytes())
    for verb in VERBS:
        for options in ((), ("--recover",)):
            line = error_of(verb, trace, *options)
            assert f"{trace / '41-0.rlscope'} is damaged at byte 112: " in line
    process.header = replace(process.header, boot_id=bytes(16))
    (trace / "41-0.rlscope").write_bytes(process.to_bytes())
    (trace / "42-0.rlscope").write_bytes(SOUND)
    found, shown = recovered(trace)
    assert found["step 3"] == 8
    assert shown.count("41-0.rlscope is damaged at byte 112: ") == len(VERBS)


def test_a_newer_version(tmp_path: Path) -> None:
    data = SOUND[:8] + struct.pack("<I", FORMAT_VERSION + 1) + SOUND[12:]
    trace = trace_with(tmp_path, data)
    for verb in VERBS:
        assert f"41-0.rlscope has format version {FORMAT_VERSION + 1}" in error_of(verb, trace)
        assert "has format version" in error_of(verb, trace, "--recover")


def test_a_foreign_file(tmp_path: Path) -> None:
    trace = trace_with(tmp_path, SOUND)
    (trace / "1-0.rlscope").write_bytes(b"#!/bin/sh\nrm -rf /\n" * 400)
    for verb in VERBS:
        assert f"{trace / '1-0.rlscope'} is not a process file" in error_of(verb, trace)
    found, shown = recovered(trace)
    assert len(found) == CHUNKS
    assert shown.count("1-0.rlscope is not a process file") == len(VERBS)


@pytest.mark.parametrize("text", ["{", "", "[1]", '"x"', "[" * 100_000, "\udcff"], ids=range(6))
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    trace = trace_with(tmp_path, SOUND)
    (trace / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    for verb in VERBS:
        assert str(trace / "manifest.json") in error_of(verb, trace)
    found, shown = recovered(trace)
    assert len(found) == CHUNKS
    assert shown.count(str(trace / "manifest.json")) >= len(VERBS)


@pytest.mark.parametrize("value", [None, [], {}, "x", -1, 10**400, 1.5, True], ids=range(8))
def test_a_manifest_with_other_values(value: object, tmp_path: Path) -> None:
    """What a manifest says is used where it makes sense, else ignored."""
    trace = trace_with(tmp_path, SOUND, dict.fromkeys([*MANIFEST, "end", "machine", "start"], value))
    document = json.loads(run("analyze", trace, "--json").stdout)
    assert len(document["breakdown"]) == 2 * CHUNKS + 1
    for verb in VERBS:
        assert run(verb, trace).returncode == 0


def as_another_user(work: Callable[[], int]) -> int:
    """Runs `work` in a child that is not root, so that permissions hold. Returns its result."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            if os.geteuid() == 0:
                with suppress(PermissionError):  # root without capabilities, as in a container: they hold for it too
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("closed", ["41-0.rlscope", "manifest.json", "."])
def test_what_may_not_be_read(verb: str, closed: str, tmp_path: Path) -> None:
    trace = trace_with(tmp_path, SOUND)
    for path in (tmp_path, *tmp_path.parents):
        if path.owner() == trace.owner() and path != Path(path.anchor):
            path.chmod(path.stat().st_mode | 0o005)
    assert run(verb, trace).returncode == 0  # and loads what the other user may not be able to load
    (trace / closed).chmod(0)

    def work() -> int:
        finished = run(verb, trace)
        lines = finished.stderr.splitlines()
        is_error = len(lines) == 1 and lines[0].startswith("rlscope: error: ") and str(trace) in lines[0]
        if finished.returncode == 2 and is_error and re.search("Permission denied|not readable", lines[0]):
            return 0
        os.write(2, finished.stderr.encode())
        return 1

    try:
        assert as_another_user(work) == 0
    finally:
        (trace / closed).chmod(0o755)


SCRIPT = """
import sys, rlscope
print("ready", flush=True)
while True:
    for _ in range(10_000):
        with rlscope.operation("step"):
            pass
"""


def test_a_trace_that_is_being_written(tmp_path: Path) -> None:
    """Works at any time, sums to what has passed, and says that it is not complete."""
    trace = tmp_path / "trace"
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            seen = []
            for _ in range(3):
                analyzed = run("analyze", trace, "--json")
                assert (analyzed.returncode, analyzed.stderr) == (0, "")
                document = json.loads(analyzed.stdout)
                assert document["complete"] is False
                wall_s = document["processes"][0]["wall_s"]
                assert sum(row["seconds"] for row in document["breakdown"]) == pytest.approx(wall_s)
                seen.append(wall_s)
            assert sorted(set(seen)) == seen
            for verb in VERBS:
                finished = run(verb, trace)
                assert (finished.returncode, finished.stderr) == (0, "")
            assert "incomplete: the manifest is not complete" in run("inspect", trace).stdout
            assert "still running" in (tmp_path / "report" / "index.html").read_text()
        finally:
            process.terminate()
    shutil.rmtree(trace)
