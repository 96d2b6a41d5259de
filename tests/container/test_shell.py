"""The container that goes on running: starting it, joining it, starting it anew, ending it."""

from container_runs import Checkout, base_and_wheels, containers, copy_checkout

CPU = ("--flavour", "cpu", *base_and_wheels())


def test_the_second_shell_is_in_the_same_container(small: Checkout) -> None:
    first = small.call(*CPU, text="echo here > /home/rlscope/note; exit 4\n")
    assert first.returncode == 4
    assert "starting the container" in first.stderr
    assert containers() == ["rlscope-cpu-1"]

    second = small.call(*CPU, text="cat /home/rlscope/note\n")
    assert (second.returncode, second.stdout) == (0, "here\n")
    assert "rlscope-cpu-1 is running already: this is another shell in it" in second.stderr

    refused = small.call(*CPU, "--env", "NAME=value")
    assert refused.returncode == 2
    assert "add --reload to start it again with them" in refused.stderr.splitlines()[-1]

    anew = small.call(*CPU, "--env", "NAME=value", "--reload", text="echo $NAME; ls /home/rlscope\n")
    assert (anew.returncode, anew.stdout) == (0, "value\n")

    assert small.call("--stop").returncode == 0
    assert containers() == []
    assert small.call("--stop").returncode == 0


def test_a_single_command_runs_beside_it(small: Checkout) -> None:
    small.call(*CPU, text="true\n")
    assert small.call(*CPU, "--run", "sh", "-c", "echo $(hostname) > output/from_run").returncode == 0
    assert (small.output / "from_run").read_text() == "rlscope\n"
    assert containers() == ["rlscope-cpu-1"]
    small.call("--stop")


def test_a_container_of_another_checkout_is_not_joined(small: Checkout) -> None:
    small.call(*CPU, text="true\n")
    other = Checkout(small.folder.with_name("other"), small.environment)
    copy_checkout(other.folder, "run_docker.py", "container", "rlscope", "dockerfiles", "requirements")
    refused = other.call(*CPU)
    assert refused.returncode == 2
    assert f"found rlscope-cpu-1 of {small.folder}" in refused.stderr
    other.call("--stop")


def test_a_container_that_ends_at_its_start_is_explained(small: Checkout) -> None:
    small.dockerfile(entrypoint="echo the GPU cannot be recorded >&2; exit 6")
    failed = small.call(*CPU)
    assert failed.returncode == 6
    *_, reason, error = failed.stderr.splitlines()
    assert reason == "the GPU cannot be recorded"
    assert "expected the container to start" in error
    assert containers() == []
