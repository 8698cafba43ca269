"""The result of a reconciliation: what was compared, which figures differ, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.money import format_amount
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import Differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.periods import Period

_MAX_DIFFERENCES = 50
TITLES = {
    "line": "cash flow lines",
    "net_cash_flow": "net cash flow per ledger",
    "total_net_cash_flow": "net cash flow with descendants",
    "starting_balance": "starting balance per cash ledger",
    "starting_total_balance": "starting balance with descendants",
    "ending_balance": "ending balance per cash ledger",
    "ending_total_balance": "ending balance with descendants",
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "identity": "net cash flow = change of cash",
}
_WITHOUT_HISTORY = (
    "the starting balances were recomputed without earlier history: pass starting_balances=reported.starting_balances "
    "to recompute_cash_flow, or load the line entries from the first entry of the books"
)
_LINES = ("line",)
_TOTALS = ("total_net_cash_flow", "starting_total_balance", "ending_total_balance")


class Difference(NamedTuple):
    """One figure that differs between the two reports; an amount is None where that report has no such row."""

    what: str
    ledger_id: str | None
    line_id: str | None
    journal_entry_id: str | None
    reported: Decimal | None
    recomputed: Decimal | None
    explanation: str

    @property
    def amount(self) -> Decimal:
        """Reported minus recomputed."""
        return (self.reported or Decimal(0)) - (self.recomputed or Decimal(0))


class Comparison(NamedTuple):
    """How many figures of one kind were compared, how many differ, and whether the comparison proves anything.

    Attributes
    ----------
    what : str
        As in :class:`~accounting_analytics.schemas.Differences`.
    compared, differing : int
        How many figures were compared, and how many differ.
    independent : bool
        False where the recomputed figure was itself supplied from a report: agreement then proves nothing.
    not_compared : int
        How many figures could not be compared, because one side does not know them.
    """

    what: str
    compared: int
    differing: int
    independent: bool = True
    not_compared: int = 0

    @property
    def total(self) -> int:
        """How many figures there are, compared or not."""
        return self.compared + self.not_compared


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
    """

    period: Period
    differences: pd.DataFrame
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False
    hierarchy_inferred: bool = False
    without_history: bool = False

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
                ", all in totals: the cause is the hierarchy" if self.differences["what"].isin(_TOTALS).all() else ""
            )
            return f"{count} difference{'' if count == 1 else 's'}{only_totals}"
        if self.compared_everything:
            return "reported and recomputed agree to the last digit"
        return "the figures compared agree to the last digit"

    def _parts(self) -> Iterator[ResultPart]:
        """Show what was compared, and each difference and why."""
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
        explained, listed = self._by_history()
        rows = listed.head(_MAX_DIFFERENCES).to_dict("records")
        more = len(listed) - len(rows)
        differences = [f"- {_describe(row)}" for row in rows] + ([f"- and {more} more: see .differences"] * (more > 0))
        if explained:
            differences.append(f"- {explained} balance(s) differ only by the missing history: see .differences.")
        yield ResultPart(differences, self._exact_differences(), _MAX_DIFFERENCES, "differences; .frame has all")

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "ties": self.ties,
            "partial": self.partial,
            "compared_everything": self.compared_everything,
            "hierarchy_inferred": self.hierarchy_inferred,
            "comparisons": [one._asdict() for one in self.comparisons],
            "differences": self.differences,
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


def describe_not_compared(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """How many lines and totals were not compared, and how many there are; empty where everything was compared."""
    texts = []
    comparisons = list(comparisons)
    for name, kinds in (("lines", _LINES), ("totals", _TOTALS)):
        chosen = [one for one in comparisons if one.what in kinds]
        if left := sum(one.not_compared for one in chosen):
            texts.append(f"{name} not compared ({left} of {sum(one.total for one in chosen)})")
    return tuple(texts)


def _place(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Figure and ledger of a difference, the same for the start and the end of the period."""
    return row["what"].removeprefix("starting_").removeprefix("ending_"), str(row["ledger_id"])


def _describe(row: Mapping[Any, Any]) -> str:
    """One difference as a line of text."""
    places = [f"{row['ledger_name']} ({row['ledger_id']})"] if isinstance(row["ledger_id"], str) else []
    if isinstance(row["line_id"], str):
        places.append(f"line {row['line_id']} of entry {row['journal_entry_id']}")
    figures = [
        f"{side} {'nothing' if pd.isna(row[side]) else format_amount(row[side])}" for side in ("reported", "recomputed")
    ]
    subject = ": ".join([TITLES[row["what"]], *([", ".join(places)] if places else [])])
    return f"{subject}: {', '.join(figures)}, difference {format_amount(row['difference'])}: {row['explanation']}."
