"""The result of a reconciliation: what was compared, which figures differ, and why, in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.messages import count_of
from accounting_analytics.money import DEFAULT_SCALE, exact_sum, format_amount, sum_by_key
from accounting_analytics.reconciliation.differences import (
    CAUSE,
    TITLES,
    TOTALS,
    Comparison,
    describe_not_compared,
    differences_frame,
)
from accounting_analytics.reconciliation.figure_comparison import EXPLAINED
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import MonthlyDifferences

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from accounting_analytics.periods import Period
    from accounting_analytics.reconciliation.assumptions import Assumption
    from accounting_analytics.reconciliation.differences import Difference, LineFacts


_GROUPS = (
    (("net_cash_flow", "line"), "net cash flow", "net_cash_flow"),
    (("starting_balance",), "the starting cash balance", "starting_cash_balance"),
    (("ending_balance",), "the ending cash balance", "ending_cash_balance"),
    (("starting_cash_balance", "ending_cash_balance", "identity", *TOTALS), "", ""),
)
"""Kinds of causes that are shown together, and the figure whose gap they sum to."""


def describe(row: Difference) -> str:
    """One difference as a line of text."""
    places = [_ledger(row)] if row.ledger_id else []
    if row.line_id:
        places.append(f"line {row.line_id} of entry {row.journal_entry_id}")
    if row.facts.transaction_id:
        places.append(f"transaction {row.facts.transaction_id}")
    sides = (("reported", row.reported), ("recomputed", row.recomputed))
    figures = [f"{side} {'nothing' if amount is None else format_amount(amount)}" for side, amount in sides]
    title = " ".join([TITLES[row.what], *_line_facts(row.facts)])
    subject = ": ".join([title, *([", ".join(places)] if places else [])])
    return f"{subject}: {', '.join(figures)}, difference {format_amount(row.amount)}: {row.explanation}."


class CauseGroup(NamedTuple):
    """Causes that are shown together, and what they sum to."""

    rows: list[Difference]
    sums: list[str]


def group_causes(rows: Sequence[Difference]) -> Iterator[CauseGroup]:
    """Group the causes, and compare what those of flows and of balances sum to with the gaps of the report."""
    causes = [row for row in rows if row.role == CAUSE]
    for kinds, figure, gap in _GROUPS:
        group = [row for row in causes if row.what in kinds]
        if "line" in kinds:
            sums = _sum_of_flows(rows, group)
        else:
            sums = [_sum_sentence(group, _sum(group), _sum(row for row in rows if row.what == gap), figure)]
        if group:
            yield CauseGroup(group, sums if figure else [])


def _sum_of_flows(rows: Sequence[Difference], causes: list[Difference]) -> list[str]:
    """State what the lines that differ, and ledgers that one report lacks, sum to."""
    lines = [row for row in rows if row.what == "line"]
    counted = [row for row in causes if not _is_rest(row, lines)]
    if not counted:
        return []
    gap = _sum(row for row in rows if row.what == "net_cash_flow")
    found = _sum(lines) + _sum(row for row in counted if row.what != "line" and not _lines_of(row, lines))
    return [_sum_sentence(counted, found, gap, "net cash flow")]


def describe_unexplained(rows: Sequence[Difference]) -> Iterator[str]:
    """Name each amount that no line explains."""
    lines = [row for row in rows if row.what == "line"]
    for row in rows:
        if row.role != CAUSE or row.what == "line" or row.explanation in EXPLAINED:
            continue
        if row.what == "net_cash_flow" and not _is_rest(row, lines):
            continue
        amount = row.amount - _sum(_lines_of(row, lines) if row.what == "net_cash_flow" else ())
        of_ledger = f" of {_ledger(row)}" if row.ledger_id else ""
        yield f"Unexplained: {format_amount(amount)}, {TITLES[row.what]}{of_ledger}."


def _is_rest(row: Difference, lines: list[Difference]) -> bool:
    """Whether a net cash flow of a ledger that both reports list differs by something else than its lines."""
    if row.what != "net_cash_flow" or row.reported is None or row.recomputed is None:
        return False
    return row.amount != _sum(_lines_of(row, lines))


def _lines_of(row: Difference, lines: list[Difference]) -> list[Difference]:
    return [line for line in lines if line.ledger_id == row.ledger_id]


def _sum_sentence(rows: Sequence[Difference], found: Decimal, gap: Decimal, figure: str) -> str:
    """Compare the sum of some causes with the gap of a figure."""
    subject = f"These {len(rows)} differences sum" if len(rows) > 1 else "This difference amounts"
    text = f"{subject} to {format_amount(found)}"
    if found == gap:
        return f"{text}, the gap of {figure}." if gap else f"{text}: {figure} as a whole agrees."
    if not gap:
        return f"{text}, but {figure} agrees: the report's own figures do not sum up."
    rest = format_amount(gap - found)
    return f"{text}; the gap of {figure} is {format_amount(gap)}, so {rest} of it is unexplained."


def describe_consequences(rows: Sequence[Difference]) -> Iterator[str]:
    """Count what follows from the causes."""
    followers = [row for row in rows if row.role != CAUSE]
    lines = sum(row.what == "line" for row in followers)
    figures = len(followers) - lines
    counted = [
        *([count_of(lines, "line")] if lines else []),
        *([count_of(figures, "balance or total", "balances and totals")] if figures else []),
    ]
    if counted:
        verb = "follows" if len(followers) == 1 else "follow"
        yield f"{' and '.join(counted)} {verb} from {'this' if len(rows) - len(followers) == 1 else 'these'}."


def _ledger(row: Difference) -> str:
    return f"{row.category or row.ledger_name} ({row.ledger_id})"


def _line_facts(facts: LineFacts) -> list[str]:
    """Day, text and cash account of a line, where they are known."""
    return [
        *([f"of {facts.local_date}"] if facts.local_date else []),
        *([f'"{facts.description}"'] if facts.description else []),
        *([f"on {facts.cash_account}"] if facts.cash_account else []),
    ]


def _sum(rows: Iterable[Difference]) -> Decimal:
    return exact_sum(row.amount for row in rows)


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
    rows : tuple of Difference
        The figures that differ, causes first; empty when everything compared agrees. `differences` is their table.
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
    scale : int
        Fraction digits of the amounts.
    as_decimals : bool
        Whether the frames that were compared have decimals.
    """

    period: Period
    rows: tuple[Difference, ...]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False
    hierarchy_inferred: bool = False
    without_history: bool = False
    assumptions: tuple[Assumption, ...] = ()
    scale: int = DEFAULT_SCALE
    as_decimals: bool = False

    @property
    def ties(self) -> bool:
        """Whether every figure compared agrees exactly."""
        return not self.rows

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The figures that differ: :class:`~accounting_analytics.schemas.Differences`."""
        return differences_frame(self.rows, self.scale, as_decimals=self.as_decimals)

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
        count = len(self.rows)
        if self.without_history:
            return f"{_WITHOUT_HISTORY} ({count_of(count, 'difference')})"
        if count:
            only_totals = (
                ", all in totals: the cause is the hierarchy" if all(one.what in TOTALS for one in self.rows) else ""
            )
            causes = sum(one.role == CAUSE for one in self.rows)
            counted = f", {causes} of them {'a cause' if causes == 1 else 'causes'}" if causes < count else ""
            return f"{count_of(count, 'difference')}{counted}{only_totals}"
        if self.compared_everything:
            return "reported and recomputed cash flow agree to the last digit"
        return "the figures compared agree to the last digit"

    def _parts(self) -> Iterator[ResultPart]:
        """Show assumptions that fit, every cause and why, what follows from them, and what was compared."""
        yield ResultPart(self._assumptions())
        rows = self._listed()
        for group in group_causes(rows):
            yield ResultPart([f"- {describe(row)}" for row in group.rows], self._for_people(group.rows), None)
            yield ResultPart(group.sums)
        yield ResultPart(self._following(rows))
        followers = [row for row in rows if row.role != CAUSE]
        yield ResultPart([], self._for_people(followers), _MAX_CONSEQUENCES, "figures that follow; .frame has all")
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
        rows = self._listed()
        causes = (text for group in group_causes(rows) for text in (*map(describe, group.rows), *group.sums))
        return (*self._assumptions(), *causes, *self._following(rows))

    def _assumptions(self) -> list[str]:
        """Sentences of what explains the whole report."""
        return [f"{one.sentence} So read, every figure compared agrees." for one in self.assumptions]

    def _following(self, rows: Sequence[Difference]) -> list[str]:
        """Say what is unexplained, what follows from the causes, and what only lacks its history."""
        explained = len(self.rows) - len(rows)
        differing = count_of(explained, "balance differs", "balances differ")
        history = [f"- {differing} only by the missing history: see .differences."]
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

    def _listed(self) -> list[Difference]:
        """Differences but those of the starting balances, and what they carry on, where the history is missing."""
        if not self.without_history:
            return list(self.rows)
        starting = {_place(row): row.amount for row in self.rows if row.what.startswith("starting_")}
        return [row for row in self.rows if starting.get(_place(row)) != row.amount]

    def _for_people(self, rows: Sequence[Difference]) -> pd.DataFrame:
        """Columns that people read before ids, without empty ones, with every digit."""
        return differences_frame(rows, self.scale, as_decimals=True)[[*_SHOWN]].dropna(axis="columns", how="all")

    def _comparison_lines(self) -> list[str]:
        width = max(map(len, TITLES.values()))
        return [f"{'':{width}}  compared  differ  not compared"] + [
            f"{TITLES[one.what]:{width}}  {one.compared:>8}  {one.differing:>6}  {one.not_compared:>12}"
            + ("" if one.independent else "  (supplied: proves nothing)")
            for one in self.comparisons
        ]


def _place(row: Difference) -> tuple[str, str | None]:
    """Figure and ledger of a difference, the same for the start and the end of the period."""
    return row.what.removeprefix("starting_").removeprefix("ending_"), row.ledger_id


_OF_LEDGERS = ("net_cash_flow", "starting_balance", "ending_balance")


def differences_by_month(reconciliations: Sequence[Reconciliation]) -> pd.DataFrame:
    """Differences in the figures of each ledger by month; those of a month with no such, in lines or sums, as they are.

    Lines, totals with descendants and sums of the report contain the same differences again.
    """
    rows: list[tuple[dt.date, str, str | None, str | None, Decimal]] = []
    for month in reconciliations:
        own = [row for row in month.rows if row.what in _OF_LEDGERS] or month.rows
        names = {(row.what, row.ledger_id): row.ledger_name for row in own}
        sums = sum_by_key(((row.what, row.ledger_id), row.amount) for row in own)
        rows.extend((month.period.start_date, *place, names[place], amount) for place, amount in sums.items())
    columns = ("start_date", "what", "ledger_id", "ledger_name", "difference")
    scale, as_decimals = (reconciliations[0].scale, reconciliations[0].as_decimals) if reconciliations else (0, False)
    values = {name: [row[place] for row in rows] for place, name in enumerate(columns)}
    return MonthlyDifferences.from_columns(values, scale, as_decimals=as_decimals)
