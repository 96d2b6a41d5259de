"""Gather rows in lists or arrays, and make one table of them at the end.

**Why it is slow.** Each step of pandas costs 10 to 500 µs, however small the table. That is so for finding a row by
its label, and for setting a cell. To append a row copies the whole table.

**Slow**

    log = pd.concat([log, pd.DataFrame([row])])
    price = prices.loc[self.step, "close"]

**Faster**

    rows.append(row)                               # pd.DataFrame(rows) at the end
    price = self.close[self.step]                  # prices["close"].to_numpy() at the beginning

**How it is found.** Stacks pass functions of pandas in an eighth of the training or more.

**When it is wrong.** Where large tables are computed on as a whole, pandas is the right tool.

**Reported:** RWTH-EBC/DDMPC #16, triqbit/mt5-ai-xauusd-trader #613, tum-ens/urbs #140.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for pandas in the training."""
    yield from evidence.calls(
        ("pandas/",), "keep numbers in arrays or lists while training, not in pandas", but=("pandas/io/",)
    )
