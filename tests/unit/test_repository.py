"""What holds for the repository as a whole: who imports whom, versions, documents that cannot drift."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlscope import __version__
from rlscope.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rlscope"

# What each part may import of rlscope; every part may import itself.
SHARED = {
    "rlscope.boot", "rlscope.build", "rlscope.errors", "rlscope.model", "rlscope.outputs", "rlscope.signals",
    "rlscope.text", "rlscope.version",
}  # fmt: skip
IN_PROCESS = (
    SHARED
    | {"rlscope._native"}
    | {
        f"rlscope.trace.{module}"
        for module in ("deaths", "files", "format", "manifest", "sealed", "utilization_file", "windows")
    }
)
OF_RECORD = {f"rlscope.record.{module}" for module in ("import_hooks", "native_names", "replacements")}
MAY_IMPORT = {
    "libraries": SHARED
    | {"rlscope._native"}
    | {f"rlscope.record.{part}" for part in ("blocking", "declared", "progress", "run")},
    "record": IN_PROCESS,
    # Its rooms import its root, but nothing that imports them.
    "record/run": IN_PROCESS | {f"rlscope.record.{module}" for module in ("config", "cupti", "small_json")},
    # Every Python of a run or of a trial begins there.
    "record/startup": IN_PROCESS | {"rlscope.record.child", "rlscope.trial.inside"},
    "record/declared": IN_PROCESS | OF_RECORD,
    "record/undeclared": IN_PROCESS | OF_RECORD | {"rlscope.record.config", "rlscope.record.declared"},
    # Who starts the recording of a process hands it the list of libraries.
    "record/child.py": IN_PROCESS | {"rlscope.record", "rlscope.libraries.LIBRARIES"},
    "record/profile.py": IN_PROCESS | {"rlscope.record", "rlscope.libraries.LIBRARIES"},
    "text": set(),
    "trace": SHARED | {"rlscope._analysis"},
    # What rules find in the tables of a run is a table of its analysis.
    "analysis/analysis.py": SHARED | {"rlscope.trace", "rlscope.analysis", "rlscope.rules"},
    "analysis/document.py": SHARED | {"rlscope.analysis", "rlscope.rules"},
    "forecast": SHARED | {"rlscope.analysis"},
    # Schemas are made of classes of all documents.
    "forecast/schema.py": SHARED | {"rlscope.forecast", "rlscope.export.json_schema"},
    "rules": SHARED | {"rlscope.analysis", "rlscope.forecast", "rlscope.record.blocking"},
    # Of what kind a wait is, is declared with the function.
    "analysis": SHARED | {"rlscope._analysis", "rlscope.trace", "rlscope.libraries", "rlscope.record.blocking"},
    "calibration": SHARED
    | {"rlscope.record", "rlscope.trace", "rlscope.analysis", "rlscope._native"}
    | {"rlscope.libraries.LIBRARIES"},
    "plots": SHARED | {"rlscope.analysis"},
    "compare": SHARED
    | {f"rlscope.{part}" for part in ("trace", "analysis", "calibration")}
    | {"rlscope.record.config"},
    "bench": SHARED
    | {"rlscope.trace", "rlscope.compare"}
    | {"rlscope.record.run.machine", "rlscope.record.run.trace_files"},
    "trial": SHARED
    | {"rlscope.compare.estimate", "rlscope.bench", "rlscope.export.json_schema"}
    | {f"rlscope.record.{part}" for part in ("import_hooks", "replacements", "declared", "run")},
    "page": SHARED | {f"rlscope.{part}" for part in ("_analysis", "trace", "analysis", "rules", "compare", "plots")},
    "export": SHARED | {"rlscope.trace", "rlscope.analysis"},
    "callbacks": SHARED | {"rlscope.record", "rlscope.analysis", "rlscope._native", "rlscope._analysis"},
    "monitor": SHARED
    | {"rlscope.record", "rlscope.trace", "rlscope.analysis.counters.clock", "rlscope.analysis.hang.seen"}
    | {"rlscope._native"},
    "checks": SHARED | {f"rlscope.{part}" for part in ("trace", "analysis", "monitor", "_native")},
    "report": SHARED
    | {f"rlscope.{part}" for part in ("trace", "analysis", "rules", "compare", "forecast", "plots", "page", "trial")}
    | {"rlscope.record.config"},
    "cli": SHARED
    | {f"rlscope.{part}" for part in ("record", "trace", "analysis", "calibration", "monitor", "checks")}
    | {
        "rlscope.bench",
        "rlscope.compare",
        "rlscope.export",
        "rlscope.forecast",
        "rlscope.page",
        "rlscope.report",
        "rlscope.rules",
        "rlscope.trial",
        "rlscope._analysis.bytes_read",
    }
    | {"rlscope.plots.drawing"},
    "notebook.py": SHARED
    | {f"rlscope.{part}" for part in ("record", "trace", "analysis", "calibration", "page", "report")},
    "cli/plot.py": SHARED | {"rlscope.cli", "rlscope.report", "rlscope.plots"},
}
# Parts that live inside the measured program, or that one wants to use without installing figures and tables.
STANDARD_LIBRARY_ONLY = (
    "libraries",
    "record",
    "trace/counter_metrics.py",
    "trace/files.py",
    "trace/format.py",
    "trace/manifest.py",
    "trace/utilization_file.py",
    "trace/windows.py",
    "analysis/correction",
    "calibration/calibration.py",
    "boot.py",
    "build.py",
    "errors.py",
    "model.py",
    "outputs.py",
    "signals.py",
    "text",
    "version.py",
    "trial/change.py",
    "trial/clock.py",
    "trial/inside.py",
    "trial/measured_part.py",
    "trial/plan.py",
)


def python_files(*parts: str) -> list[Path]:
    files = [
        file
        for part in parts
        for file in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).rglob("*.py"))
    ]
    return sorted(files)


def imports(file: Path) -> Iterator[str]:
    """The modules that a file imports, at any depth; `from a import b` counts as a.b, which may be a module."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def within(module: str, allowed: set[str]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in allowed)


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_go_one_way(part: str) -> None:
    allowed = MAY_IMPORT[part] | {f"rlscope.{part.replace('/', '.')}"}
    own_rules = {file for other in MAY_IMPORT if other.startswith(f"{part}/") for file in python_files(other)}
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in python_files(part)
        if file not in own_rules
        for module in imports(file)
        if within(module, {"rlscope"}) and not within(module, allowed)
    ]
    assert not wrong


def files_imported(file: Path, modules: dict[str, Path]) -> set[Path]:
    """The files of the package that a file imports; `from a import b` is of a.b, or of a where that is no module."""
    found = {modules.get(name) or modules.get(name.rpartition(".")[0]) for name in imports(file)}
    return {other for other in found if other is not None and other != file}


def circles(imported: dict[Path, set[Path]]) -> set[Path]:
    """What is left once nothing more can be taken away that imports nothing, or that nothing imports."""
    left = set(imported)
    while True:
        leaves = {file for file in left if not imported[file] & left}
        roots = left - {other for file in left for other in imported[file]}
        if not leaves | roots:
            return left
        left -= leaves | roots


def test_no_file_imports_itself_by_way_of_others() -> None:
    """Neither at its head, nor in a function, nor for types alone."""
    modules = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in python_files("")
    }
    # Built, and without a file that Python reads: importing from them is not importing `rlscope/__init__.py`.
    modules |= dict.fromkeys(("rlscope._native", "rlscope._analysis"), PACKAGE / "built")
    imported = {file: files_imported(file, modules) for file in python_files("")}
    assert sorted(str(file.relative_to(ROOT)) for file in circles(imported)) == []


def test_the_command_line_holds_verbs_and_little_else() -> None:
    assert set(VERBS) <= {file.stem.removesuffix("_") for file in python_files("cli")}


# How much a reader takes in at a glance.
MOST_FILES, MOST_LINES, MOST_LINES_OF_A_FUNCTION = 20, 600, 60
LONGER = {"sweep_trace"}
CODE = ("rlscope", "experiments", "benchmarks", "scripts", "container", "cmake")
# Lists: one file for each library, rule or training script.
FLAT_LISTS = {
    "rlscope/libraries",
    "rlscope/rules",
    "experiments/workloads",
}


def files_of_code() -> list[Path]:
    return [ROOT / "run_docker.py", *(file for part in CODE for file in sorted((ROOT / part).rglob("*.py")))]


def test_a_folder_can_be_seen_at_a_glance() -> None:
    files = Counter(str(file.parent.relative_to(ROOT)) for file in files_of_code())
    assert not [folder for folder, count in files.items() if count > MOST_FILES and folder not in FLAT_LISTS]


@pytest.mark.parametrize("file", files_of_code(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_and_its_functions_can_be_seen_at_a_glance(file: Path) -> None:
    text = file.read_text()
    assert text.count("\n") <= MOST_LINES
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    lengths = {node.name: (node.end_lineno or 0) - node.body[0].lineno + 1 for node in functions}
    assert {name for name, lines in lengths.items() if lines > MOST_LINES_OF_A_FUNCTION} <= LONGER


def test_nothing_in_the_package_imports_what_stands_beside_it() -> None:
    beside = {"container", "experiments", "run_docker"}
    assert not [file for file in python_files("") for module in imports(file) if within(module, beside)]


@pytest.mark.parametrize(
    "file", [ROOT / "run_docker.py", *sorted(ROOT.glob("container/*.py"))], ids=lambda file: file.name
)
def test_the_container_needs_two_packages_only(file: Path) -> None:
    """Hosts that have nothing but a container engine have what requirements.deploy.txt names, and no rlscope."""
    known = sys.stdlib_module_names | {"container", "click", "docker", "requests"}
    assert not [module for module in imports(file) if module.split(".")[0] not in known]


@pytest.mark.parametrize("file", python_files(*STANDARD_LIBRARY_ONLY), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_the_recorder_needs_the_standard_library_only(file: Path) -> None:
    known = sys.stdlib_module_names | {"rlscope"}
    assert not [module for module in imports(file) if module.split(".")[0] not in known]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (
            "before = set(sys.modules); import rlscope; "
            "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))",
            ["rlscope"],
        ),
        # Environments that are recorded need not have it, and loading it takes longer than many a command.
        ("import rlscope.cli.record, rlscope.analysis.sweep; print('pandas' in sys.modules)", ["False"]),
        (
            "import rlscope; before = 'rlscope.record.recorder' in sys.modules; rlscope.wrap_module(sys); "
            "print(before, 'rlscope.record.recorder' in sys.modules)",
            ["False", "True"],
        ),
    ],
    ids=["no other package", "no pandas", "the recorder later"],
)
def test_little_is_loaded(code: str, shown: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"import sys; {code}"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == shown


def test_the_version_follows_the_changelogs() -> None:
    """A release is the newest of the changelog; between releases the version is that of the next one, with .dev0."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.findall(r"^## \[(\d[^\]]*)\]", changelog, flags=re.MULTILINE)[0]
    coming = __version__.removesuffix(".dev0")
    numbers, released = (tuple(map(int, version.split("."))) for version in (coming, newest))
    assert numbers > released if coming != __version__ else numbers == released


def test_a_free_threaded_python_is_refused_in_one_line() -> None:
    code = "import sys; sys.abiflags = 't'; import rlscope"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith(
        "ImportError: rlscope needs a Python with the global interpreter lock"
    )


def test_a_build_for_a_free_threaded_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.abiflags = 't'\n")
    paths = ["-S", str(ROOT), "-B", str(tmp_path / "build")]
    configure = ["cmake", *paths, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    finished = subprocess.run(configure, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert "rlscope needs a Python with the global interpreter lock" in " ".join(finished.stderr.split())


def test_a_set_up_says_first_how_much_it_downloads() -> None:
    for lock in (*ROOT.glob("requirements*/*.lock.txt"), *ROOT.glob("experiments/requirements/*.lock.txt")):
        assert re.search(r"^# Downloads .*\d MB", lock.read_text(), flags=re.MULTILINE), lock.name


def test_what_environments_of_the_studies_share_is_downloaded_once() -> None:
    """pip keeps what it has downloaded: the same version is not downloaded again for another environment."""
    versions: dict[str, set[str]] = {}
    for lock in ("requirements/torch", "experiments/requirements/pytorch", "experiments/requirements/tensorflow"):
        text = (ROOT / f"{lock}.lock.txt").read_text()
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, flags=re.MULTILINE):
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
    assert "no-cache" not in (ROOT / "Makefile").read_text()


DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_what_documents_name_exists(document: Path) -> None:
    """make verbs, rlscope verbs, scripts and relative links."""
    text = document.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    code = "\n".join(re.findall(r"`[^`\n]+`|^```bash\n.*?^```", text, flags=re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"\bmake ([a-z]+[a-z-]*)", code)) <= targets
    assert set(re.findall(r"(?:^|`)rlscope ([a-z]+)", code, flags=re.MULTILINE)) <= set(VERBS)
    assert all((ROOT / script).is_file() for script in re.findall(r"\b(scripts/\w+\.(?:sh|py))", code))
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert not [link for link in links if not (document.parent / link).exists()]


STUDIES = sorted(file.parent.name for file in ROOT.glob("experiments/*/run.py"))
# What each part of the experiments may import of them; every part may import itself.
PARTS_OF_EXPERIMENTS = {
    "workloads": set[str](),
    "harness": {"experiments.CHECKOUT"},
    "verdicts": {"experiments.CHECKOUT", "experiments.harness"},
    "command_line.py": {"experiments.CHECKOUT", "experiments.harness", "experiments.verdicts"},
    "artifacts": {
        f"experiments.{part}"
        for part in ("harness", "verdicts", "command_line", "overhead_correction.first_calibration")
    },
} | {
    study: {"experiments.CHECKOUT"}
    | {f"experiments.{part}" for part in ("harness", "verdicts", "command_line", "workloads")}
    for study in STUDIES
}
MOST_MODULES_IN_THE_ROOT = 3


def files_of_experiments(part: str) -> list[Path]:
    place = ROOT / "experiments" / part
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


@pytest.mark.parametrize("part", PARTS_OF_EXPERIMENTS)
def test_a_study_owns_its_code(part: str) -> None:
    """No study imports another, the harness imports none, and nothing imports the command line of rlscope."""
    allowed = PARTS_OF_EXPERIMENTS[part] | {f"experiments.{part}"}
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in files_of_experiments(part)
        for module in imports(file)
        if (within(module, {"experiments"}) and not within(module, allowed)) or within(module, {"rlscope.cli"})
    ]
    assert files_of_experiments(part) and not wrong


def test_a_folder_of_the_experiments_can_be_seen_at_a_glance() -> None:
    root = ROOT / "experiments"
    assert len(list(root.glob("*.py"))) <= MOST_MODULES_IN_THE_ROOT
    folders = {file.parent for file in root.rglob("*.py") if not file.is_relative_to(root / "workloads")}
    assert {folder.relative_to(root).parts[0] for folder in folders - {root}} | {"workloads"} == {
        part for part in PARTS_OF_EXPERIMENTS if not part.endswith(".py")
    }


# What may be imported by what stands beside the package and the studies; each may import itself.
BESIDE = {
    "benchmarks": {"rlscope", "experiments.workloads", "experiments.harness.machine"},
    "scripts": {"rlscope", "experiments"},
    "cmake": set[str](),
}


@pytest.mark.parametrize("part", BESIDE)
def test_nothing_imports_the_tests_and_what_stands_beside_keeps_apart(part: str) -> None:
    ours = {"rlscope", "experiments", "benchmarks", "scripts", "cmake", "container", "tests", "run_docker"}
    allowed = BESIDE[part] | {part}
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sorted((ROOT / part).rglob("*.py"))
        for module in imports(file)
        if within(module, ours) and not within(module, allowed)
    ]
    assert not wrong


def test_every_case_study_has_a_script_and_is_listed() -> None:
    for study in ROOT.glob("experiments/*/run.py"):
        script = f"scripts/experiment_{study.parent.name}.sh"
        assert (ROOT / script).stat().st_mode & 0o100, f"{script} is not executable"
        for document in ("README.md", "experiments/README.md"):
            assert script in (ROOT / document).read_text(), f"{document} does not name {script}"
        assert f"experiments.{study.parent.name}" in (ROOT / "scripts" / "artifacts.py").read_text()


def test_locks_are_exact() -> None:
    of_some_pythons = r"(; python_version (<|>=) \"3\.[0-9]+\")?"
    for lock in ROOT.glob("requirements/*.lock.txt"):
        lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        assert not [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*" + of_some_pythons, line)]


def test_an_image_leaves_out_what_the_repository_leaves_out() -> None:
    rules = [rule.rstrip("/") for rule in (ROOT / ".gitignore").read_text().splitlines()]
    wanted = {rule if rule.startswith("/") else f"**/{rule}" for rule in rules}
    assert wanted <= set((ROOT / ".dockerignore").read_text().splitlines())


@pytest.mark.parametrize("heading", ["A call", "A trace", "A script"])
def test_each_journey_through_the_code_goes_through_files_that_exist(heading: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    (journey,) = re.findall(rf"^## {heading}[^\n]*\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    files = re.findall(r"^\d+\. `([^`]+)`", journey, flags=re.MULTILINE)
    assert files and not [file for file in files if not (ROOT / file).is_file()]


def test_ci_regenerates_the_figures_that_are_named_first_and_once_a_week_all() -> None:
    workflow = (ROOT / ".github" / "workflows" / "figures.yml").read_text()
    commands = re.findall(r"run_docker\.py .*--run (\S+)", workflow)
    assert {"experiment_RL_framework_comparison.sh", "experiment_algorithm_choice.sh", "all_experiments.sh"} <= {
        *commands
    }
    assert [name for name in commands if not (ROOT / "scripts" / name).is_file()] == ["rls-unit-tests"]
    assert "schedule:" in workflow
