"""This file defines an analysis: what `rlscope analyze` shows of one trace."""

from functools import cached_property

from rlscope.analysis.advice.advice import Advice, advise
from rlscope.analysis.run_tables import RunTables


class Analysis(RunTables):
    """This is what `rlscope analyze` shows: the tables of a run, and what they advise.

    It has no fields of its own, and to make it a dataclass would take as long as the import of a file.
    """

    @cached_property
    def advice(self) -> Advice | None:
        """Return what bounds the run; None if no process took time."""
        return advise(self)

    @property
    def no_core_share(self) -> float:
        """Return the share of the processes' time in which they waited for a core, from 0 to 1."""
        return self.cores.no_core_share

    def _repr_html_(self) -> str:
        """Show the analysis in a notebook: what bounds the run, and where its time went."""
        from rlscope.analysis.outline.html import html_of  # which only notebooks need

        return html_of(self, self.advice)
