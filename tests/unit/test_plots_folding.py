"""The published view of an analysis."""

import pandas as pd

from rlscope.model import STAGES
from rlscope.plots.folding import fold_breakdown, fold_transitions

BREAKDOWN = pd.DataFrame(
    [
        ("simulation", "simulator", "cpu", 2.0),
        ("simulation", "wait", "idle", 1.0),
        ("simulation", "python", "cpu", 0.5),
        ("training_loop", "backend", "cpu", 4.0),
        ("backpropagation", "backend", "cpu", 8.0),
        ("backpropagation", "backend", "cpu+gpu", 16.0),
        ("backpropagation", "wait", "gpu", 32.0),
        ("backpropagation", "cuda", "gpu", 64.0),
        ("(none)", "python", "cpu", 128.0),
        ("(none)", "wait", "idle", 256.0),
    ],
    columns=["stage", "category", "resource", "seconds"],
).assign(process="main", phase="(none)", operation="x")


def folded_seconds() -> dict[tuple[str, str, str], float]:
    rows = fold_breakdown(BREAKDOWN).rows
    return {(row.stage, row.category, row.resource): row.seconds for row in rows.itertuples()}


def test_waiting_is_python_and_idle_is_cpu() -> None:
    assert folded_seconds()["simulation", "python", "cpu"] == 1.5


def test_the_training_loop_is_backpropagation() -> None:
    assert folded_seconds()["backpropagation", "backend", "cpu"] == 12.0


def test_what_runs_on_the_gpu_alone_has_no_category() -> None:
    assert folded_seconds()["backpropagation", "gpu", "gpu"] == 96.0


def test_nothing_else_is_made_or_lost() -> None:
    folded = fold_breakdown(BREAKDOWN)
    assert folded.left_out_s == 384.0
    assert folded.rows["seconds"].sum() + folded.left_out_s == BREAKDOWN["seconds"].sum()
    assert set(folded_seconds()) == {
        ("simulation", "simulator", "cpu"),
        ("simulation", "python", "cpu"),
        ("backpropagation", "backend", "cpu"),
        ("backpropagation", "backend", "cpu+gpu"),
        ("backpropagation", "gpu", "gpu"),
    }


SYNCHRONISING = pd.DataFrame(
    [
        ("synchronisation", "python", "cpu", 1.0),
        ("synchronisation", "wait", "idle", 2.0),
        ("synchronisation", "cuda", "gpu", 4.0),
    ],
    columns=["stage", "category", "resource", "seconds"],
).assign(process="main", phase="(none)", operation="sync_weights")


def test_synchronisation_is_drawn_as_before_there_was_a_stage_for_it() -> None:
    """The weights of a training loop were in no stage, so their time counted as backpropagation."""
    table = pd.concat([BREAKDOWN, SYNCHRONISING], ignore_index=True)
    before = fold_breakdown(table.replace({"stage": {"synchronisation": "training_loop"}}))
    after = fold_breakdown(table)
    pd.testing.assert_frame_equal(after.rows, before.rows)
    assert (after.left_out_s, after.evaluation_s) == (before.left_out_s, before.evaluation_s)
    assert folded_seconds()["backpropagation", "gpu", "gpu"] + 4.0 == after.rows["seconds"].max()


def test_synchronisation_may_have_a_bar_of_its_own() -> None:
    table = pd.concat([BREAKDOWN, SYNCHRONISING], ignore_index=True)
    rows = fold_breakdown(table, stages=STAGES).rows
    own = rows[rows["stage"] == "synchronisation"]
    assert {(row.category, row.resource): row.seconds for row in own.itertuples()} == {
        ("python", "cpu"): 3.0,
        ("gpu", "gpu"): 4.0,
    }
    pd.testing.assert_frame_equal(rows.drop(own.index).reset_index(drop=True), fold_breakdown(BREAKDOWN).rows)


def test_what_a_callback_does_is_drawn_in_the_stage_in_which_it_was_called() -> None:
    rows = BREAKDOWN.assign(outer_stage="")
    of_callback = rows.iloc[[3]].assign(operation="callback", category="python", outer_stage="simulation", seconds=0.25)
    folded = fold_breakdown(pd.concat([rows, of_callback])).rows
    seconds = {(row.stage, row.category, row.resource): row.seconds for row in folded.itertuples()}
    assert seconds == {**folded_seconds(), ("simulation", "python", "cpu"): 1.75}


def test_the_table_given_stays_as_it_was() -> None:
    before = BREAKDOWN.copy()
    fold_breakdown(BREAKDOWN)
    pd.testing.assert_frame_equal(BREAKDOWN, before)


def test_a_trace_without_operations_folds_to_nothing() -> None:
    folded = fold_breakdown(BREAKDOWN[BREAKDOWN["stage"] == "(none)"])
    assert folded.rows.empty
    assert folded.left_out_s == 384.0


def transitions(*rows: tuple[str, str, int, float | None]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["stage", "to", "count", "per_iteration"])
    return table.assign(process="main", operation="x", per_timestep=table["per_iteration"], **{"from": "python"})


def test_transitions_enter_the_backend_cuda_and_the_simulator() -> None:
    folded = fold_transitions(
        transitions(
            ("backpropagation", "backend", 10, 1.0),
            ("training_loop", "backend", 20, 2.0),
            ("inference", "cuda", 40, 4.0),
            ("inference", "simulator", 80, 8.0),
            ("inference", "wait", 160, 16.0),
            ("simulation", "simulator", 320, 32.0),
            ("(none)", "backend", 640, 64.0),
        )
    )
    assert {(row.stage, row.category): row.per_iteration for row in folded.itertuples()} == {
        ("backpropagation", "backend"): 3.0,
        ("inference", "cuda"): 4.0,
        ("simulation", "simulator"): 32.0,
    }


def test_transitions_of_synchronisation_are_backpropagation_or_on_their_own() -> None:
    table = transitions(("backpropagation", "backend", 10, 1.0), ("synchronisation", "backend", 20, 2.0))
    assert fold_transitions(table)[["stage", "count"]].to_numpy().tolist() == [["backpropagation", 30.0]]
    assert fold_transitions(table, STAGES)[["stage", "count"]].to_numpy().tolist() == [
        ["backpropagation", 10.0],
        ["synchronisation", 20.0],
    ]


def test_transitions_without_progress_stay_unknown_per_iteration() -> None:
    folded = fold_transitions(transitions(("inference", "backend", 10, None), ("inference", "backend", 5, None)))
    assert folded["count"].tolist() == [15.0]
    assert folded["per_iteration"].isna().all()


def test_no_transitions_fold_to_none() -> None:
    assert fold_transitions(transitions()).empty
