"""The image itself: a figure, made by a caller without rights, and rlscope's own tests in it."""

import pytest
from container_runs import BUILD_S, CALLER, Checkout

RUN_S = 600
# The first test waits until the image is built, which takes most of a quarter of an hour.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(BUILD_S + RUN_S)]

FIGURE = (
    "figure_5_algorithm_choice.png",
    "figure_5_algorithm_choice.pdf",
    "figure_5_algorithm_choice.svg",
    "figure_5_algorithm_choice.csv",
)
# "CapEff: 0000000000000000": no capability at all.
IDENTITY = "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs):' /proc/self/status"


def test_a_figure_is_left_to_the_caller(checkout: Checkout) -> None:
    finished = checkout.call(
        "--flavour", "cpu", "--run", "experiment_algorithm_choice.sh", "--budget", "smoke", timeout=RUN_S
    )
    assert finished.returncode == 0, finished.stderr
    folder = checkout.output / "artifacts" / "experiment_algorithm_choice"
    for name in (*FIGURE, "claims.md", "index.html"):
        assert (folder / name).stat().st_size > 100
    assert {path.stat().st_uid for path in checkout.output.rglob("*")} == {CALLER}


def test_the_caller_has_no_privilege(checkout: Checkout) -> None:
    finished = checkout.call("--flavour", "cpu", "--run", "sh", "-c", IDENTITY)
    nothing = "0" * 16
    assert finished.stdout.split() == [str(CALLER), "CapEff:", nothing, "CapBnd:", nothing, "NoNewPrivs:", "1"]


def test_a_change_in_the_checkout_arrives(checkout: Checkout) -> None:
    version = checkout.folder / "rlscope" / "version.py"
    before = version.read_text()
    version.write_text('"""Changed."""\n\n__version__ = "7.8.9"\n')
    try:
        finished = checkout.call("--flavour", "cpu", "--run", "rlscope", "--version")
        assert "7.8.9" in finished.stdout, finished.stderr
    finally:
        version.write_text(before)
    assert not list(checkout.folder.glob("rlscope/*.so"))


def test_tests_pass_inside(checkout: Checkout) -> None:
    """Some of each kind: of the reader and the sweep, and one that trains, recorded."""
    files = [f"tests/unit/test_{name}.py" for name in ("trace_reader", "trace_damage", "analysis_golden")]
    finished = checkout.call(
        "--flavour", "cpu", "--run", "pytest", *files, "tests/integration/test_stable_baselines3.py", timeout=RUN_S
    )
    print(finished.stdout)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.timeout(3600)
def test_all_tests_pass_inside(checkout: Checkout) -> None:
    finished = checkout.call("--flavour", "cpu", "--run", "rls-unit-tests", timeout=3600)
    print(finished.stdout)
    assert finished.returncode == 0, finished.stderr
