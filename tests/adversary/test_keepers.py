"""What users, disks and readers do in the directory of a flight recorder: it goes on, and says what is wrong."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until
from recording import call_here
from running_jobs import Job, is_complete, running

from rlscope.analysis.analysis import analyze
from rlscope.monitor.windows.kept_windows import PARTS
from rlscope.monitor.windows.run_windows import begun_windows
from rlscope.trace.reader import open_trace
from rlscope.trace.windows import SLOW_NAME, read_trouble, windows_in

KEEP_S = 1.0


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    with running(tmp_path_factory.mktemp("kept"), "--keep", f"{KEEP_S:g}s") as started:
        yield started


def goes_on(job: Job, windows: int = 3) -> None:
    """So many further windows are begun."""
    before = job.newest
    until(lambda: job.newest >= before + windows)


def assert_each_kind_is_said_once(said: str) -> None:
    """Lines are such as `rlscope: window-3 cannot be removed: why. It is tried again`."""
    kinds = [line.split(" ", 2)[2] for line in said.splitlines() if "It is tried again" in line]
    assert len(set(kinds)) == len(kinds) > 0, said


def oldest(job: Job) -> Path:
    until(lambda: len(begun_windows(job.run)) > PARTS // 2)
    return begun_windows(job.run)[0]


def test_old_windows_are_deleted(job: Job) -> None:
    shutil.rmtree(oldest(job), ignore_errors=True)
    shutil.rmtree(begun_windows(job.run)[1], ignore_errors=True)
    goes_on(job)


def test_the_open_window_is_deleted(job: Job) -> None:
    shutil.rmtree(begun_windows(job.run)[-1], ignore_errors=True)
    goes_on(job)


def test_a_window_holds_what_a_user_wrote(job: Job) -> None:
    window = begun_windows(job.run)[-1]
    (window / "report.html").write_text("mine")
    overwritten = job.manifest["overwritten"]["windows"] if "overwritten" in job.manifest else 0
    until(lambda: os.listdir(window) == ["report.html"])
    until(lambda: job.manifest.get("overwritten", {"windows": 0})["windows"] > overwritten)
    assert window.name not in windows_in(job.run)
    goes_on(job)
    assert (window / "report.html").read_text() == "mine"


def test_the_job_is_moved_away_and_back(job: Job) -> None:
    moved = job.run.with_name("moved")
    job.run.rename(moved)
    time.sleep(0.4)
    assert not job.run.exists()
    moved.rename(job.run)
    goes_on(job)


@pytest.mark.parametrize("text", ['{"mine": 1}'])
def test_the_manifest_is_another_file_for_a_moment(job: Job, text: str) -> None:
    path = job.run / "manifest.json"
    kept = path.with_suffix(".kept")
    path.rename(kept)
    path.write_text(text)
    goes_on(job, PARTS)  # of which some are overwritten, which cannot be noted now
    assert any("does not say how much was overwritten" in line for line in read_trouble(job.run))
    kept.rename(path)
    until(lambda: not read_trouble(job.run))


def test_the_list_of_slow_iterations_is_no_text(job: Job) -> None:
    (job.run / SLOW_NAME).write_bytes(b"window-\xff 1 2\n\x80")
    goes_on(job)
    (job.run / SLOW_NAME).unlink()
    (job.run / SLOW_NAME).mkdir()
    goes_on(job)
    assert any(SLOW_NAME in line for line in read_trouble(job.run))
    (job.run / SLOW_NAME).rmdir()


def test_the_next_numbers_are_taken(job: Job) -> None:
    taken = [job.run / f"window-{job.newest + more}" for more in (3, 4, 5)]
    taken[0].touch()
    taken[1].mkdir()
    taken[2].symlink_to("nowhere")
    until(lambda: job.newest >= int(taken[2].name[7:]) + 3)
    assert not set(windows_in(job.run)) & {path.name for path in taken}
    assert taken[0].exists() and taken[1].is_dir() and taken[2].is_symlink()


def test_somebody_has_a_lock_on_a_window(job: Job) -> None:
    """That one stays, and those behind it go."""
    window = oldest(job)
    behind = begun_windows(job.run)[1]
    (file,) = window.glob("*.rlscope")
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        until(lambda: not behind.exists())
        assert window.exists()
        until(lambda: any(f"{window.name} cannot be removed" in line for line in read_trouble(job.run)))
    until(lambda: not window.exists())


def test_what_is_wrong_is_said_by_verbs_until_it_is_over(job: Job) -> None:
    window = begun_windows(job.run)[-1]
    (window / "manifest.json").write_text('{"mine": 1}')
    until(lambda: any(f"{window.name} cannot be completed" in line for line in read_trouble(job.run)))
    trouble = f"{window.name} cannot be completed"
    for verb in ("analyze", "inspect"):
        shown = call_here(verb, job.run)
        assert trouble in shown.stdout + shown.stderr
    assert any(trouble in why for why in json.loads(call_here("top", job.run, "--once", "--json").stdout)["why"])
    assert "trouble: " in call_here("top", job.run, "--once").stdout
    until(lambda: not (window / "config.json").exists())
    until(lambda: not read_trouble(job.run))
    goes_on(job)


def test_in_the_end_all_is_kept_that_was_to_be_and_said_once(job: Job) -> None:
    goes_on(job, PARTS)
    status, _, said = job.finish()
    assert (status, "Traceback" in said) == (0, False), said
    assert_each_kind_is_said_once(said)
    windows = begun_windows(job.run)
    assert PARTS / 2 <= len(windows) <= 2 * PARTS
    assert all(analyze(open_trace(window)).complete for window in windows[-PARTS // 2 :])
    assert job.manifest["overwritten"]["windows"] > PARTS


def fill(disk: Path, kind: str, seconds: float) -> None:
    """Take all room on a disk, again and again, and give it back at last."""
    end_s = time.monotonic() + seconds
    files = 0
    while time.monotonic() < end_s:
        try:
            with (disk / f"filler-{files if kind == 'inodes' else 0}").open("ab", buffering=0) as file:
                file.write(bytes(0 if kind == "inodes" else 4096))
            files += 1
        except OSError:
            time.sleep(0.01)
    for path in disk.glob("filler-*"):
        path.unlink()


@pytest.mark.parametrize("kind", ["blocks", "inodes"])
def test_the_disk_is_full_for_a_while(tmp_path: Path, kind: str) -> None:
    with running(tmp_path, "--keep", "2s", disk="size=2m,nr_inodes=200") as job:
        goes_on(job)
        until(lambda: len(begun_windows(job.run)) >= 3)
        first = begun_windows(job.run)[0]
        fill(job.run.parent, kind, 1.5)
        goes_on(job)
        assert not first.exists(), "the oldest ones make room"
        recorded = begun_windows(job.run)[-2]
        until(lambda: is_complete(recorded))
        assert analyze(open_trace(recorded)).complete
        until(lambda: not read_trouble(job.run))
        status, _, said = job.finish()
    assert status == 0 and "Traceback" not in said
    assert "No space left on device" in said
    assert_each_kind_is_said_once(said)


def test_a_disk_has_less_room_than_is_to_be_kept(tmp_path: Path) -> None:
    many = "[rlscope.operation('many').__enter__().__exit__(None, None, None) for _ in range(2000)]"
    with running(tmp_path, "--keep", "10MB", at=many, disk="size=5m") as job:
        until(lambda: job.manifest.get("overwritten", {"windows": 0})["windows"] >= 2)
        until(
            lambda: any(
                analyze(open_trace(window, recover=True), recover=True).complete
                for window in begun_windows(job.run)[1:]
            )
        )
        status, _, said = job.finish()
    assert status == 0 and "Traceback" not in said
    assert said.count("keeps less than it is to") + said.count("is not recorded by all") in (1, 2), said
