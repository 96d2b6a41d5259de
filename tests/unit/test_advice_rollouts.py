"""What changes to rollouts save at most, in constructed runs whose answers are exact."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pieces import Piece, advice_of, send, traced

from benchmarks.trace_writer import ThreadWriter, TraceWriter
from rlscope.analysis.advice.advice import Advice
from rlscope.model import Category, DeviceWork

MS = 1_000_000


def work(
    ms: int, stage: str = "", operation: str = "", category: Category = Category.PYTHON, call: str = "call",
    kernels: int = 0, device_ms: int = 0,
) -> Piece:  # fmt: skip
    """In a stage, and in an operation of it; with kernels, a device works for some of the time at the end."""
    return Piece(ms / 1000, operation, category, call, False, stage, kernels, device_ms / 1000)


def receive(ms: int, stream: str, stage: str = "training_loop", operation: str = "wait_for_batch") -> Piece:
    return work(ms, stage, operation, Category.WAIT, f"posix.read {stream}")


def advice_on(directory: Path, processes: Mapping[str, Sequence[Piece]]) -> Advice:
    return advice_of(traced(directory, processes))


def savings(advice: Advice) -> dict[str, float]:
    """In milliseconds."""
    return {change.name: pytest.approx(1000 * change.saving_s) for change in advice.changes}


GENERATE = work(10_000, "inference", "generate")
UPDATE = work(6_000, "backpropagation", "update_actor")


def test_rollout_and_training_may_overlap(tmp_path: Path) -> None:
    """Of 10 s and 6 s and a second for the rest, 11 s are left."""
    advice = advice_on(tmp_path, {"main": [GENERATE, UPDATE, work(1_000, "training_loop")]})
    assert savings(advice)["overlap rollout and training"] == 6_000
    change = next(change for change in advice.changes if change.name == "overlap rollout and training")
    assert (change.stage, change.speedup) == ("backpropagation", pytest.approx(17 / 11))
    assert change.assumption == "rollout, 10 s, and training, 6 s, a ratio of 1.67, ran at once"
    assert f"; overlap rollout and training, 1.55 times as fast (6 s less, if {change.assumption})" in advice.text


def test_rollouts_that_are_shorter_hide_behind_training(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, {"main": [GENERATE._replace(seconds=2), UPDATE]})
    change = next(change for change in advice.changes if change.name == "overlap rollout and training")
    assert (change.stage, change.saving_s) == ("inference", pytest.approx(2))
    assert change.assumption == "rollout, 2 s, and training, 6 s, a ratio of 0.333, ran at once"


def test_what_overlaps_already_saves_nothing_more(tmp_path: Path) -> None:
    """The trainer waits for 4 of the 10 s that the other one generates."""
    trainer = [UPDATE, receive(4_000, "pipe:[1]")]
    advice = advice_on(tmp_path, {"main": trainer, "rollout": [GENERATE, send("pipe:[1]")]})
    assert advice.process == "main" and advice.total_s == pytest.approx(10)
    assert "overlap rollout and training" not in savings(advice)
    assert savings(advice)["batch inference"] == 4_000


def test_a_process_that_does_both_for_another_may_overlap_them(tmp_path: Path) -> None:
    main = [work(11_000, "training_loop"), receive(10_000, "pipe:[1]")]
    worker = [GENERATE._replace(seconds=6), UPDATE._replace(seconds=4), send("pipe:[1]")]
    advice = advice_on(tmp_path, {"main": main, "worker": worker})
    assert savings(advice)["overlap rollout and training"] == 4_000


def test_a_run_that_neither_generates_nor_synchronises_is_told_nothing_of_it(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, {"main": [work(10_000, "inference", "sample_action"), UPDATE]})
    assert set(savings(advice)) == {"batch inference", "compile the update"}
    assert "synchronisation" not in advice.text


def test_weights_that_take_long(tmp_path: Path) -> None:
    transfer, load = work(2_000, "synchronisation", "transfer"), work(1_000, "synchronisation", "load")
    advice = advice_on(tmp_path, {"main": [work(10_000, "inference"), UPDATE, transfer, load]})
    assert savings(advice)["synchronise weights beside the rest"] == 3_000
    assert "(3 s less, if synchronisation took no time)" in advice.text


def test_waiting_for_who_loads_weights_goes_with_it(tmp_path: Path) -> None:
    main = [UPDATE, receive(3_000, "pipe:[1]", "synchronisation", "sync_weights")]
    loading = [work(2_000, "synchronisation", "load"), send("pipe:[1]")]
    advice = advice_on(tmp_path, {"main": main, "engine": loading})
    assert savings(advice)["synchronise weights beside the rest"] == 3_000


def test_rewards_on_the_cpu(tmp_path: Path) -> None:
    """A judge that runs on the device is no such reward, and neither is a tool."""
    judge = work(2_000, "simulation", "reward", Category.CUDA_WAIT, "cudaStreamSynchronize", kernels=1, device_ms=2_000)
    reward, tool = work(4_000, "simulation", "reward"), work(3_000, "simulation", "tool_call")
    advice = advice_on(tmp_path, {"main": [GENERATE, judge, reward, tool, UPDATE]})
    assert savings(advice)["compute rewards beside the rest"] == 4_000
    assert "(4 s less, if the CPU took no time for rewards)" in advice.text


def test_decoding_that_is_bound_by_its_launches(tmp_path: Path) -> None:
    """10 s with 1,000 kernels that take 4 s: the device idles for 6 s, which is 6 ms each."""
    decode = work(10_000, "inference", "decode", Category.BACKEND, kernels=1_000, device_ms=4_000)
    advice = advice_on(tmp_path, {"main": [decode, UPDATE]})
    assert savings(advice)["decode by a CUDA graph"] == 6_000
    assert "(6 s less, if the device waited for none of 1,000 launches of 6 ms)" in " ".join(advice.sentences.changes)


def test_decoding_in_another_process(tmp_path: Path) -> None:
    decode = work(4_000, "inference", "generate", Category.BACKEND, kernels=100, device_ms=1_000)
    main = [UPDATE, receive(5_000, "pipe:[1]")]
    advice = advice_on(tmp_path, {"main": main, "rollout": [decode, send("pipe:[1]")]})
    change = next(change for change in advice.changes if change.name == "decode by a CUDA graph")
    assert change.saving_s == pytest.approx(3)
    assert change.assumption == "the device waited for none of 100 launches of 30 ms"


def test_decoding_without_a_device_has_no_launches(tmp_path: Path) -> None:
    assert "decode by a CUDA graph" not in savings(advice_on(tmp_path, {"main": [GENERATE, UPDATE]}))


def sample_twice(thread: ThreadWriter) -> None:
    """Complete 20 samples in each of two iterations of 1,600 ms: 18 in the first 1,000, the others at the end."""
    thread.progress(0, timesteps=0, is_baseline=True)
    for begin in (0, 1_600):
        thread.begin_operation(begin * MS, "inference")
        for number in range(20):
            thread.sample((begin + (1_000 if number < 18 else 1_600)) * MS, "math", version=0, tokens=1)
        thread.end((begin + 1_600) * MS)
        thread.progress((begin + 1_600) * MS, timesteps=begin + 1_600)


def test_tails_of_samples(tmp_path: Path) -> None:
    """Two tails of 0.6 s."""
    process = (writer := TraceWriter(tmp_path)).process(pid=1)
    sample_twice(process.thread())
    process.stop(3_200 * MS)
    advice = advice_of(writer.write_complete())
    assert savings(advice)["begin other samples in the tail"] == 1_200
    assert (
        "begin other samples in the tail, 1.6 times as fast (1.2 s less, if nothing waited for the last tenth of "
        "samples: 1.2 s in 2 iterations of main)"
    ) in advice.text


def test_a_tail_of_others_counts_no_longer_than_it_is_waited_for(tmp_path: Path) -> None:
    """Main waits 0.2 s for a sampler whose tails are 1.2 s; its device works for 0.1 s of them."""
    writer = TraceWriter(tmp_path)
    main, sampler = writer.process(pid=1), writer.process(pid=2)
    main.properties({"process_name": "main"})
    sampler.properties({"process_name": "sampler"})
    thread = main.thread()
    thread.operation(0, 6_000 * MS, "backpropagation")
    thread.boundary(6_000 * MS, 6_200 * MS, Category.WAIT, "posix.read pipe:[1]")
    thread.progress(6_200 * MS, timesteps=1)
    samples = sampler.thread()
    sample_twice(samples)
    samples.boundary(3_200 * MS, 3_200 * MS, Category.WAIT, "posix.write pipe:[1]")
    launch = sampler.launch_site("inference", "inference")
    sampler.queue(0).record(DeviceWork.KERNEL, 1_000 * MS, 1_100 * MS, "gemv", launch)
    for process in (main, sampler):
        process.stop(6_200 * MS)
    advice = advice_of(writer.write_complete())
    (change,) = [change for change in advice.changes if change.name == "begin other samples in the tail"]
    assert (advice.process, change.saving_s) == ("main", pytest.approx(0.2))
    assert change.assumption.endswith(
        "1.2 s in 2 iterations of sampler, in which devices were idle for 1.1 s for want of samples"
    )
