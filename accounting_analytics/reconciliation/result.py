"""The result of a reconciliation: what was compared, which figures differ, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.reconciliation.difference_texts import (
    describe,
    describe_consequences,
    describe_unexplained,
    group_causes,
)
from accounting_analytics.reconciliation.differences import CAUSE, TITLES, TOTALS, Comparison, describe_not_compared
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import Differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.periods import Period
    from accounting_analytics.reconciliation.assumptions import Assumption

_MAX_CONSEQUENCES = 50
_FACTS = ("local_date", "description", "cash_account", "category", "what", "reported", "recomputed", "difference")
_SHOWN = (*_FACTS, "explanation", "ledger_id", "line_id", "journal_entry_id", "transaction_id")
"""Columns as people read them."""
_WITHOUT_HISTORY = (
    "the starting balances were recomputed without earlier history: pass starting_balances=reported.starting_balances "
    "to recompute_cash_flow, or load the line entries from the first entry of the books"
)


@dataclass(frozen=True, repr=False)
class Reconciliation(Result):
    """Result of :func:`~accounting_analytics.reconcile`.

    Parameters
    ----------
    period : Period
        The period of both reports.
    differences : DataFrame
        :class:`~accounting_analytics.schemas.Differences`; no rows when everything compared agrees.
    comparisons : tuple of Comparison
        What was compared; where figures could not be compared, ``not_compared`` counts them and a note says why.
    notes : tuple of str
        How the report was interpreted, and what limits the comparison.
    partial : bool
        Whether one of the reports was made from an incomplete load: agreement then proves little.
    hierarchy_inferred : bool
        Whether recomputed totals assume that ledgers without a known parent are roots.
    without_history : bool
        Whether every recomputed starting balance is zero and the reported ones are not: `summary` says what to pass.
    assumptions : tuple of Assumption
        Single assumptions about the report under which every figure compared agrees, such as the days of another zone;
        needs `line_entries` and `ledgers`.
    """

    period: Period
    differences: pd.DataFrame
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False
    hierarchy_inferred: bool = False
    without_history: bool = False
    assumptions: tuple[Assumption, ...] = ()

    @property
    def ties(self) -> bool:
        """Whether every figure compared agrees exactly."""
        return self.differences.empty

    @property
    def compared_everything(self) -> bool:
        """Whether every figure of the report was compared: also its lines, and totals with descendants."""
        return not any(one.not_compared for one in self.comparisons)

    @property
    def frame(self) -> pd.DataFrame:
        """The differences."""
        return self.differences

    def summary(self) -> str:
        """One line: the period, whether it ties, and what was not compared."""
        prefix = "PARTIAL: " if self.partial else ""
        return f"{prefix}Cash flow report, {self.period}: {self.verdict}."

    @property
    def verdict(self) -> str:
        """The summary without the period: whether the reports tie, and what was not compared."""
        limits = [*self.not_compared, *(["hierarchy inferred"] if self.hierarchy_inferred else [])]
        return "; ".join([self._verdict(), *limits])

    @property
    def not_compared(self) -> tuple[str, ...]:
        """What was not compared, such as ``totals not compared (3 of 10)``; empty where everything was."""
        return describe_not_compared(self.comparisons)

    def _verdict(self) -> str:
        count = len(self.differences)
        if self.without_history:
            return f"{_WITHOUT_HISTORY} ({count} difference{'' if count == 1 else 's'})"
        if count:
            only_totals = (
                ", all in totals: the cause is the hierarchy" if self.differences["what"].isin(TOTALS).all() else ""
            )
            causes = int((self.differences["role"] == CAUSE).sum())
            counted = f", {causes} of them {'a cause' if causes == 1 else 'causes'}" if causes < count else ""
            return f"{count} difference{'' if count == 1 else 's'}{counted}{only_totals}"
        if self.compared_everything:
            return "reported and recomputed cash flow agree to the last digit"
        return "the figures compared agree to the last digit"

    def _parts(self) -> Iterator[ResultPart]:
        """Show assumptions that fit, every cause and why, what follows from them, and what was compared."""
        yield ResultPart(self._assumptions())
        explained, listed = self._by_history()
        rows = listed.to_dict("records")
        for group in group_causes(rows):
            yield ResultPart([f"- {describe(row)}" for row in group.rows], _for_people(pd.DataFrame(group.rows)), None)
            yield ResultPart(group.sums)
        yield ResultPart(self._following(rows, explained))
        rest = "figures that follow; .frame has all"
        yield ResultPart([], _for_people(listed[listed["role"] != CAUSE]), _MAX_CONSEQUENCES, rest)
        compared = [
            (
                TITLES[one.what],
                one.compared,
                one.differing,
                one.not_compared,
                "yes" if one.independent else "no, supplied",
            )
            for one in self.comparisons
        ]
        columns = ["figure", "compared", "differ", "not compared", "independent"]
        yield ResultPart(self._comparison_lines(), pd.DataFrame(compared, columns=columns))

    @property
    def explanations(self) -> tuple[str, ...]:
        """Sentences on why the reports differ: assumptions that fit, every cause, sums, and what follows from them."""
        explained, listed = self._by_history()
        rows = listed.to_dict("records")
        groups = group_causes(rows)
        causes = (text for group in groups for text in (*map(describe, group.rows), *group.sums))
        return (*self._assumptions(), *causes, *self._following(rows, explained))

    def _assumptions(self) -> list[str]:
        """Sentences of what explains the whole report."""
        return [f"{one.sentence} So read, every figure compared agrees." for one in self.assumptions]

    def _following(self, rows: list[dict[Any, Any]], explained: int) -> list[str]:
        """Say what is unexplained, what follows from the causes, and what only lacks its history."""
        history = [f"- {explained} balance(s) differ only by the missing history: see .differences."]
        unexplained = () if self.assumptions else describe_unexplained(rows)
        return [*unexplained, *describe_consequences(rows), *(history if explained else [])]

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "ties": self.ties,
            "partial": self.partial,
            "compared_everything": self.compared_everything,
            "hierarchy_inferred": self.hierarchy_inferred,
            "comparisons": [one._asdict() for one in self.comparisons],
            "differences": self.differences,
            "explanations": self.explanations,
            "assumptions": [one._asdict() for one in self.assumptions],
            "notes": self.notes,
        }

    def _by_history(self) -> tuple[int, pd.DataFrame]:
        """How many differences are those of the starting balances, without history; and all others."""
        exact = self._exact_differences()
        if not self.without_history:
            return 0, exact
        rows = exact.to_dict("records")
        starting = {_place(row): row["difference"] for row in rows if row["what"].startswith("starting_")}
        is_carried = pd.Series([starting.get(_place(row)) == row["difference"] for row in rows], index=exact.index)
        return int(is_carried.sum()), exact[~is_carried]

    def _exact_differences(self) -> pd.DataFrame:
        """Differences with Arrow decimals, whose text has every digit."""
        return Differences.exact(self.differences).frame

    def _comparison_lines(self) -> list[str]:
        width = max(map(len, TITLES.values()))
        return [f"{'':{width}}  compared  differ  not compared"] + [
            f"{TITLES[one.what]:{width}}  {one.compared:>8}  {one.differing:>6}  {one.not_compared:>12}"
            + ("" if one.independent else "  (supplied: proves nothing)")
            for one in self.comparisons
        ]


def _for_people(differences: pd.DataFrame) -> pd.DataFrame:
    """Columns that people read before ids, without empty ones."""
    return differences[[name for name in _SHOWN if name in differences]].dropna(axis="columns", how="all")


def _place(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Figure and ledger of a difference, the same for the start and the end of the period."""
    return row["what"].removeprefix("starting_").removeprefix("ending_"), str(row["ledger_id"])
