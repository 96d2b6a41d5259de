"""Prints in a terminal what a trace holds and what it lost."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from rlscope.analysis.contents import Contents, CudaProcess
from rlscope.analysis.rows import Record
from rlscope.build import recorder_text
from rlscope.report.screen import Screen
from rlscope.report.sentences import inspect_lines, machine_lines
from rlscope.report.tables import table_lines
from rlscope.text import cuda_version, printable
from rlscope.text.numbers import duration, size, span

CROSSINGS_SHOWN = 15
THREADS_SHOWN = 20
DEVICE_COLUMNS_SHOWN = ("process", "device", "uuid", "name", "kernels", "copies", "memsets")


def print_contents(directory: Path, contents: Contents) -> None:
    """Print the facts of the trace in `directory`, its processes, devices, events, threads and crossings."""
    console = Console()
    console.print(_summary(directory, contents), soft_wrap=True, highlight=False, markup=False)
    console.print(_process_tree(contents))
    for row in contents.cuda:
        console.print(printable(_cuda_line(row)), soft_wrap=True, highlight=False, markup=False)
    if contents.devices:
        devices = [{name: row[name] for name in DEVICE_COLUMNS_SHOWN} for row in contents.devices.records()]
        _print_table("Devices", devices)
    events: list[Record] = [{"kind": kind, "events": count} for kind, count in contents.events_by_kind().items()]
    _print_table("Events", events)
    _print_table("Threads", contents.threads.records()[:THREADS_SHOWN])
    _print_rest(console, "threads", len(contents.threads) - THREADS_SHOWN)
    if contents.crossings:
        _print_table("Crossings", contents.crossings.records()[:CROSSINGS_SHOWN])
        _print_rest(console, "boundaries", len(contents.crossings) - CROSSINGS_SHOWN)
    if contents.cuda_calls:
        _print_table("CUDA calls", contents.cuda_calls.records()[:CROSSINGS_SHOWN])
        _print_rest(console, "CUDA calls", len(contents.cuda_calls) - CROSSINGS_SHOWN)


def _print_table(title: str, rows: Sequence[Record]) -> None:
    click.echo("\n".join(table_lines(title, rows, Screen.of_stdout())) + "\n")


def _print_rest(console: Console, what: str, rest: int) -> None:
    if rest > 0:
        console.print(f"and {rest} more {what}: see --json", highlight=False)


def _summary(directory: Path, contents: Contents) -> str:
    per_event = contents.bytes_per_event
    size_text = size(contents.bytes) + (f", {size(per_event)} per event" if per_event is not None else "")
    lines = [f"{directory}: {contents.events:,} events, {size_text}"]
    lines += [f"incomplete: {reason}" for reason in contents.why] or ["complete: nothing is known to be missing"]
    lines += contents.unmet
    lines += machine_lines(contents.machines)
    manifest = contents.manifest
    lines += inspect_lines(directory, manifest)
    command, machine = manifest.get("command"), manifest.get("machine")
    if isinstance(command, list):
        lines.append(f"command: {' '.join(map(str, command))}")
    if isinstance(machine, dict):
        known = [f"{key} {value}" for key, value in machine.items() if value is not None and key != "boot_id"]
        lines.append(f"machine: {', '.join(known)}")
    versions = {"rlscope": manifest.get("rlscope_version"), "python": manifest.get("python")} | contents.versions
    known = [f"{library} {version}" for library, version in versions.items() if isinstance(version, str)]
    if known:
        lines.append(f"versions: {', '.join(known)}")
    built_from = manifest.get("built_from")
    if isinstance(built_from, dict):  # older traces have none
        lines.append(recorder_text(built_from))
    return "\n".join(printable(line) for line in lines)


def _cuda_line(row: CudaProcess) -> str:
    """Say how the device work of a process was recorded."""
    facts = [fact for fact in (row.state, row.error) if fact is not None]
    if row.driver_version is not None:
        facts.append(f"driver for CUDA {cuda_version(row.driver_version)}")
    if row.cupti_version is not None:
        facts.append(f"CUPTI {_cupti_version(row.cupti_version)} from {row.cupti_path}")
    for what, seconds in (("not recorded", row.gap_s), ("CUPTI's own work", row.overhead_s)):
        if seconds > 0:
            facts.append(f"{what} {duration(seconds)}")
    return f"GPU work of {row.process}: {', '.join(facts)}"


def _cupti_version(number: int) -> str:
    """Return small numbers up to CUDA 12.9, since then such as 130001."""
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}" if number >= 10_000 else str(number)


def _process_tree(contents: Contents) -> Tree:
    root = Tree("Processes")
    branches: dict[str, Tree] = {}
    for row in contents.processes:  # by start, so a parent comes before its children
        where = f" on {row.machine}" if len(contents.machines) > 1 else ""
        text = (
            f"{row.process}: pid {row.pid}{where}, {row.role}, {span(row.start_s, row.end_s)}, "
            f"{row.events:,} events, {row.ended}"
        )
        losses = {
            "dropped records": row.dropped_records,
            "dropped device records": row.dropped_device_records,
            "misnested operations": row.misnested_operations,
            "unresolved launches": row.unresolved_launches,
            "stacks without their outer frames": row.cut_stacks,
        }
        text += "".join(f", {count:,} {loss}" for loss, count in losses.items() if count)
        parent = branches.get(row.parent, root) if row.parent is not None else root
        branches[row.process] = parent.add(escape(printable(text)))
    return root
