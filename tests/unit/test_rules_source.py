"""Rules that read the program's own lines: what is on a line, and which lines are known to be slow."""

import re
from pathlib import Path

import pytest
from trace_builder import analyzed

from rlscope.rules.source import Source

#: A loop of 100 ns, of which 90 are at a line of main.
LOOP = """process stop=110
thread 0
0 + inference
1 -
100 + backpropagation
110 -
stacks 9
2 sees 0 <module>:{file}:1 main:{file}:1
{seen}
105 sees 0 <module>:{file}:1 main:{file}:9
"""
HEAD = """def main(buffer, items, p, x):
    import random
    import numpy as np
    import json, pickle, statistics, torch
    items, days = list(items), x.tolist()
"""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("x = np.concatenate([x, items])", "RLS203"),
        ("items = np.concatenate([x, x])", None),
        ("x = torch.FloatTensor(items)", "RLS206"),
        ("import pandas", "RLS208"),
        ("i = np.random.choice(len(items), 8, p=p)", "RLS212"),
        ("i = self.rng.choice(len(items), 8, replace=False)", "RLS212"),
        ("i = np.random.choice(len(items), 8)", None),
        ("i = random.choices(items, weights=p, k=8)", "RLS212"),
        ("i = random.choices(items, k=8)", None),
        ("buffer.items.pop(0)", "RLS213"),
        ("buffer.items.pop()", None),
        ("del buffer.items[0]", "RLS213"),
        ("del buffer.items[-1], p[0]", None),
        ("i = days.index(x)", "RLS213"),
        ("if x in items: pass", "RLS213"),
        ("if f(x) in items: pass", None),
        ("if x in (1, 2) or x in p: pass", None),
        ("buffer.items.remove(x)", "RLS213"),
        ("p.remove(x)", None),
        ("worst = sorted(items, key=len)[0]", "RLS214"),
        ("x = np.array([each.x for each in items])", "RLS215"),
        ("x = np.array(3)", None),
        ("x = np.array([p.index(each) for each in items])", None),
        ("x = [p[i] * 2 + y for i, y in enumerate(x)]", "RLS216"),
        ("x = [f(p[i]) for i in range(9)]", None),
        ("x = [y for y in x]", None),
        ("x = np.mean(self.items)", "RLS217"),
        ("x = self.prices.max()", "RLS217"),
        ("x = statistics.stdev(self.items)", "RLS217"),
        ("x = items.max()", None),
        ("x = pickle.load(p)", "RLS309"),
        ("x = json.loads(p.read_text())", "RLS309"),
        ("x = json.loads(p)", None),
        ("x = {key: value[:8].copy() for key, value in p.items()}", "RLS202"),
        ("for i in range(9): x[i] = x[i - 1] * 2", None),  # one line: the loop itself is on it
    ],
)
def test_a_line_that_is_known_to_be_slow_is_found(line: str, code: str | None, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"{HEAD}    {line}\n")
    seen = "\n".join(f"{time} sees 0 <module>:{file}:1 main:{file}:6" for time in range(5, 100, 10))
    analysis = analyzed(tmp_path, LOOP.format(seen=seen, file=file))
    found = [row for row in analysis.findings if row.code in RULES]
    assert [(row.code, row.file, row.line) for row in found] == [(code, str(file), 6)] * (code is not None)
    assert all(row.seconds == pytest.approx(99e-9, abs=9e-9) for row in found)


RULES = ("RLS202", "RLS203", "RLS206", "RLS208", "RLS212", "RLS213", "RLS214", "RLS215", "RLS216", "RLS217", "RLS309")


def test_a_line_of_the_loop_itself_is_named_where_no_other_rule_says_more(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"{HEAD}    x = p.transformed(x)\n")
    seen = "\n".join(f"{time} sees 0 <module>:{file}:1 main:{file}:6" for time in range(5, 100, 10))
    (found,) = analyzed(tmp_path, LOOP.format(seen=seen, file=file)).findings
    assert (found.code, found.file, found.line) == ("RLS201", str(file), 6)
    assert "`x = p.transformed(x)`" in found.change


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        ("while not items:\n        pass", True),
        ("while True:\n        if items: break", True),
        ("while True:\n        if items: return items.pop()", True),
        ("while p.get():\n        pass", False),  # it waits in there
        ("while not items:\n        items = p.step(items)", False),
        ("for _ in items:\n        pass", False),
    ],
)
def test_a_loop_that_does_nothing_but_ask_is_found_beside_others(lines: str, is_found: bool, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"{HEAD}    {lines}\n")
    seen = "\n".join(f"{time} sees 0 <module>:{file}:1 main:{file}:{6 + time % 20 // 15}" for time in range(5, 100, 10))
    alone = LOOP.format(seen=seen, file=file)
    others = alone.replace("stacks 9", "thread 1\n100 + simulation\n101 -\nstacks 9")
    found = [row for row in analyzed(tmp_path / "others", others).findings if row.code == "RLS412"]
    assert [row.line in (6, 7) for row in found] == [True] * is_found
    assert "RLS412" not in {row.code for row in analyzed(tmp_path / "alone", alone).findings}


def test_who_calls_a_dear_function_from_several_places_is_told_of_them(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(HEAD)
    times = range(5, 100, 10)
    stack = "{time} sees 0 <module>:{file}:1 main:{file}:{line} mask:{file}:4 row:{file}:6"
    seen = "\n".join(stack.format(time=time, file=file, line=2 + (time > 50)) for time in times)
    (found,) = analyzed(tmp_path, LOOP.format(seen=seen, file=file)).findings
    assert (found.code, found.function, found.line) == ("RLS201", "row", 6)
    assert set(re.findall(r"a\.py:\d", found.change.partition("from ")[2])) == {"a.py:2", "a.py:3"}
    everywhere = "\n".join(stack.format(time=time, file=file, line=2) for time in times)
    (found,) = analyzed(tmp_path, LOOP.format(seen=everywhere, file=file)).findings
    assert (found.function, "from" in found.change) == ("row", False)


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        ("for each in items:\n        x = self.policy(each)", True),
        ("for i in range(9):\n        x = self.policy(items[i])", True),
        ("for i in range(9):\n        x = self.policy(x)", False),  # as in a loop over steps
        ("for each in items:\n        child = each.next(); x = self.policy(child)", True),
        ("for i in range(9):\n        x = self.networks[i](items[i])", False),  # each has its own
        ("if p:\n        x = [self.policy(each) for each in items]", True),
        ("if p:\n        x = self.policy([len(each) for each in items])", False),  # which is given all
    ],
)
def test_a_network_that_is_asked_for_one_element_after_the_other_is_found(
    lines: str, is_found: bool, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"{HEAD}    {lines}\n")
    frames = f"<module>:{file}:1 main:{file}:7 forward:{file}:2"
    seen = "\n".join(f"{time} sees 0 {frames}" for time in range(5, 100, 10))
    script = LOOP.format(seen=seen, file=file).replace("1 -\n100 +", "99 -\n100 +")
    found = [row for row in analyzed(tmp_path, script).findings if row.code == "RLS509"]
    assert [(row.file, row.line) for row in found] == [(str(file), 7)] * is_found


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("x[i] = x[i - 1] * 2 + np.sqrt(p[i])", True),
        ("x[i] = buffer.step(p[i])", False),  # who calls another function may not do it at once
        ("x.append(p)", False),
    ],
)
def test_a_loop_over_elements_is_found(body: str, is_found: bool, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"{HEAD}    for i in range(len(p)):\n        {body}\n")
    seen = "\n".join(f"{time} sees 0 <module>:{file}:1 main:{file}:7" for time in range(5, 100, 10))
    analysis = analyzed(tmp_path, LOOP.format(seen=seen, file=file))
    assert ("RLS216" in [row.code for row in analysis.findings]) == is_found


def test_a_file_that_is_another_by_now_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("\n@cached\ndef f():\n    import numpy as np; x = np.sort(y)\n")
    source = Source(str(tmp_path))
    line = source.line(str(file), "A.f", 2, 4)
    assert line is not None and [(call.name, call.text) for call in line.calls] == [("numpy.sort", "np.sort")]
    assert line.calls[0].targets == {"x"} and line.is_in_function and line.loop is None
    assert source.line(str(file), "A.f", 3, 4) is None
    assert source.line(str(file), "g", 2, 4) is None
    assert source.line(str(tmp_path / "b.py"), "f", 2, 4) is None


def test_source_lies_where_the_program_ran_or_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x.pop(0)\n")
    monkeypatch.chdir(tmp_path)
    assert Source("/elsewhere").line("/elsewhere/a.py", "<module>", 1, 1) is not None
    assert Source("/other").line("/elsewhere/a.py", "<module>", 1, 1) is None


def test_calls_over_several_lines_are_on_the_lines_that_python_says(tmp_path: Path) -> None:
    text = "from numpy import concatenate as join\nx = (\n    f(1)\n    .g(\n        join(y)))\n"
    (tmp_path / "a.py").write_text(text)
    source = Source(str(tmp_path))
    names = [[call.name for call in source.line(str(tmp_path / "a.py"), "<module>", 1, n).calls] for n in (3, 4, 5)]
    assert names == [[".g", "f"], [".g"], ["numpy.concatenate"]]


def test_the_line_where_a_callback_is_made_is_the_one_to_change(tmp_path: Path) -> None:
    file, library = tmp_path / "a.py", "/lib/python3.11/site-packages/stable_baselines3/common"
    file.write_text("def main():\n    callback = EvalCallback(env)\n    other = BaseAlgorithm()\n    model.learn()\n")
    learn = f"<module>:{file}:1 main:{file}:4 BaseAlgorithm.learn:{library}/base_class.py:1"
    called = f"{learn} EvalCallback._on_step:{library}/callbacks.py:1"
    seen = "\n".join(f"{time} sees 0 {called if time < 60 else learn}" for time in range(5, 100, 5))
    text = f"""process stop=110
thread 0
0 + inference
1 -
2 + phase:evaluation
58 -
100 + backpropagation
110 -
stacks 9
1 sees 0 <module>:{file}:1 main:{file}:1
{seen}
"""
    found = {row.code: row.line for row in analyzed(tmp_path, text).findings}
    assert found.get("RLS301") == 2, found
