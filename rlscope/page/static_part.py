"""The part of the page that needs no script: warnings, breakdown and processes as tables, and how the page was made."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlscope.model import NS_PER_S, LifePart
from rlscope.page.account_part import account_part
from rlscope.page.bars import bar
from rlscope.text import as_html
from rlscope.text.commands import without_secrets
from rlscope.text.numbers import count, digits, duration, percent
from rlscope.version import __version__


def static_part(title: str, trace: Mapping[str, Any], warnings: Sequence[str]) -> str:
    """Show without a script what is known of a trace of the header; `title` is empty where there is no other one."""
    document = trace["document"]
    life = document["life"]
    length_s = trace["length_s"] if life is None else life["wall_ns"] / NS_PER_S
    facts = [duration(length_s), counted(len(trace["processes"]), "process", "processes")]
    if document["iterations"]:
        facts.append(counted(document["iterations"], "iteration", "iterations"))
    parts = [f"<h2>{as_html(title)}</h2>"] if title else []
    parts.append(f"<p>{as_html(', '.join(facts))}</p>")
    parts += [f'<p class="warning">{as_html(warning)}</p>' for warning in warnings]
    parts.append(account_part(trace["account"]))
    parts.append("<noscript>" + breakdown(document) + processes(document) + "</noscript>")
    return "".join(parts)


def footer(title: str, trace: Mapping[str, Any], manifest: Mapping[str, Any], remarks: Sequence[str]) -> str:
    """Say how a trace was made, and how finely the page shows it."""
    command = manifest.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    name = as_html(title or trace["name"])
    lines = [f"{name}: recorded from <code>{as_html(without_secrets(words))}</code>."] if words else []
    lines += [as_html(f"{remark[0].upper()}{remark[1:]}.") for remark in remarks]
    lines += [resolution(trace), *map(as_html, trace["left_out"])]
    lines.append(f"Made by rlscope {as_html(__version__)}.")
    return "".join(f"<p>{line}</p>" for line in lines)


def resolution(trace: Mapping[str, Any]) -> str:
    """Say in HTML how wide the bins of the timeline are, and of which parts the page has all events."""
    processes = trace["processes"]
    widest_s = max(process["bins"]["width_ticks"] * process["seconds_per_tick"] for process in processes)
    windows = sum(len(process["windows"]) for process in processes)
    return (
        f"The timeline has {processes[0]['bins']['count']:,} bins per process, of at most {duration(widest_s)}, "
        f"with exact sums, and every event of {counted(windows, 'part', 'parts')} of it. This command makes a page "
        "with the events between two other times, in seconds: "
        f"<code>rlscope report {as_html(trace['name'])} --focus 1.5:2 -o page.html</code>"
    )


def counted(number: int, one: str, several: str) -> str:
    """Return the number with its noun."""
    return f"{count(number)} {one if number == 1 else several}"


def breakdown(document: dict[str, Any]) -> str:
    """Seconds of the process that paces the run, per layer of each stage of its loop and each other part of life."""
    sums: dict[tuple[str, str], float] = {}
    for row in document["breakdown"]:
        if document["life"] is not None and row["process"] == document["life"]["process"]:
            key = row["stage"] if row["part"] == LifePart.LOOP else row["part"], row["category"]
            sums[key] = sums.get(key, 0.0) + row["seconds"]
    total = sum(sums.values()) or 1
    rows = "".join(
        f"<tr><td>{as_html(stage)}</td><td>{as_html(category)}</td><td class='number'>{digits(seconds)}</td>"
        f"<td class='number'>{percent(seconds / total)}</td><td>{bar(seconds / total, category)}</td></tr>"
        for (stage, category), seconds in sorted(sums.items(), key=lambda item: -item[1])
    )
    head = "<tr><th>part</th><th>layer</th><th>seconds</th><th>share</th><th></th></tr>"
    return f"<table><caption>The time of all processes</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"


def processes(document: dict[str, Any]) -> str:
    """Make a table with one row per process."""
    rows = "".join(
        f"<tr><td>{as_html(row['process'])}</td><td>{as_html(row['role'])}</td>"
        f"<td class='number'>{digits(row['wall_s'])}</td></tr>"
        for row in document["processes"]
    )
    head = "<tr><th>process</th><th>role</th><th>seconds</th></tr>"
    return f"<table><caption>Processes</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"
