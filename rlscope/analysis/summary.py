"""This file says in a line what was run and recorded."""

import signal

from rlscope.analysis.run_tables import RunTables
from rlscope.text.numbers import digits, duration

#: Evaluation is said where it makes a training longer by more than that.
SAID = 1.01


def summary_of(tables: RunTables) -> str:
    """Say what was recorded, such as "1 process, 9.06 s, 600 iterations, 600 timesteps"."""
    walls_s = {row.process: row.wall_s for row in tables.processes}
    wall_s = max(walls_s.values()) if tables.path is None else walls_s[tables.path.process]
    parts = [f"{len(tables.processes)} process{'es' if len(tables.processes) > 1 else ''}", duration(wall_s)]
    parts += [ended for row in tables.processes if row.role == "main" for ended in (_ended(row.exit_status),) if ended]
    if tables.iterations is not None:
        parts += [f"{tables.iterations:,} iterations", f"{tables.timesteps:,} timesteps"]
    rates = tables.token_rates
    if rates.tokens_per_s is not None:
        parts.append(f"{rates.tokens:,} tokens, {digits(rates.tokens_per_s)} a second")
        if rates.trained_tokens_per_s is not None and rates.trained_tokens_per_s != rates.tokens_per_s:
            parts[-1] += f" of which {digits(rates.trained_tokens_per_s)} were kept"
    if tables.extrapolated_s is not None:
        whole_s = tables.extrapolated_with_evaluation_s or tables.extrapolated_s
        parts.append(f"about {duration(whole_s)} for all {tables.total_timesteps:,} timesteps")
        if whole_s > SAID * tables.extrapolated_s:
            parts[-1] += f" ({duration(tables.extrapolated_s)} without evaluation)"
    return ", ".join(parts)


def _ended(status: int | None) -> str:
    """Say how a command failed; empty if it did not, or nobody knows."""
    if status is not None and status < 0 and -status in set(signal.Signals):
        return f"ended by {signal.Signals(-status).name}"
    return f"failed with status {status}" if status else ""
