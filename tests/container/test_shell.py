"""The container that goes on running: starting it, joining it, starting it anew, ending it."""

import time

from container_runs import Checkout, base_and_wheels, containers, copy_checkout, remove_project

CPU = ("--flavour", "cpu", *base_and_wheels())


def test_the_second_shell_is_in_the_same_container(small: Checkout) -> None:
    first = small.call(*CPU, text="echo here > /home/rlscope/note; exit 4\n")
    assert first.returncode == 4
    assert "starting the container" in first.stderr
    assert containers() == [small.container]

    second = small.call(*CPU, text="cat /home/rlscope/note\n")
    assert (second.returncode, second.stdout) == (0, "here\n")
    assert f"{small.container} is running already: this is another shell in it" in second.stderr

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
    assert containers() == [small.container]
    small.call("--stop")


def test_checkouts_do_not_end_each_other_s_containers(small: Checkout) -> None:
    """Neither the one with shells nor that of a single command."""
    other = Checkout(small.folder.with_name("other"), small.environment)
    copy_checkout(other.folder, "run_docker.py", "container", "rlscope", "dockerfiles", "requirements")
    first = small.call(*CPU, text="echo here > /home/rlscope/note\n")
    assert first.returncode == 0, first.stderr
    running = small.begin(*CPU, "--run", "sh", "-c", "touch output/begun; until test -e output/end; do sleep 0.1; done")
    while not (small.output / "begun").exists():
        assert running.poll() is None
        time.sleep(0.1)
    other.dockerfile()
    reloaded = other.call(*CPU, "--reload", text="ls /home/rlscope\n")
    assert (reloaded.returncode, reloaded.stdout) == (0, ""), reloaded.stderr
    assert other.call("--stop").returncode == 0
    assert len(containers()) == 2
    (small.output / "end").touch()
    _, said = running.communicate(timeout=100)
    assert running.returncode == 0, said
    found = small.call(*CPU, text="cat /home/rlscope/note\n")
    assert found.stdout == "here\n", found.stderr
    assert small.call("--stop").returncode == 0
    remove_project(other)


def test_a_container_that_ends_at_its_start_is_explained(small: Checkout) -> None:
    small.dockerfile(entrypoint="echo the GPU cannot be recorded >&2; exit 6")
    failed = small.call(*CPU)
    assert failed.returncode == 6
    *_, reason, error = failed.stderr.splitlines()
    assert reason == "the GPU cannot be recorded"
    assert "expected the container to start" in error
    assert containers() == []
