"""Compare a reported cash flow report with a recomputed report, figure by figure.

Deployments interpret the interface in different ways (line ids of the cash side, no lines, no rows for zero). An
interpretation that fits the whole report is accepted and noted. Anything else is reported as a difference.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import localcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import DEFAULT_SCALE, EXACT, exact_sum, format_amount, sum_by_key
from accounting_analytics.core.periods import day_label, period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import Differences, MonthlyDifferences
from accounting_analytics.reconciliation.compared_report_lines import (
    CASH_ONLY_RECOMPUTED,
    CASH_ONLY_REPORTED,
    compare_lines,
)
from accounting_analytics.reconciliation.differences import (
    CAUSE,
    KINDS,
    TOTALS,
    ZERO,
    compare_figures,
)
from accounting_analytics.reconciliation.explanations import explain_differences
from accounting_analytics.reconciliation.tried_assumptions import find_assumptions
from accounting_analytics.reports.books.ledger_tree import LedgerTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from accounting_analytics.core.periods import Period
    from accounting_analytics.reconciliation.differences import Comparison, Difference
    from accounting_analytics.reconciliation.tried_assumptions import Assumption
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_GROUPS = (
    (("net_cash_flow", "line"), "net cash flow", "net_cash_flow"),
    (("starting_balance",), "the starting cash balance", "starting_cash_balance"),
    (("ending_balance",), "the ending cash balance", "ending_cash_balance"),
    (("starting_cash_balance", "ending_cash_balance", "identity", *TOTALS), "", ""),
)
"""Kinds of causes that are shown together, and the figure whose difference is the sum of these causes."""
_MAX_CONSEQUENCES = 50
_SHOWN = (
    *("local_date", "description", "cash_account", "category", "what", "reported", "recomputed", "difference"),
    *("explanation", "ledger_id", "line_id", "journal_entry_id", "transaction_id"),
)
"""Columns that are shown to people, in their order."""
_WITHOUT_HISTORY = (
    "the starting balances were recomputed without earlier history: load the books since their first entry, or pass "
    "opening=report, the earliest report, to Books"
)


@dataclass(frozen=True, repr=False)
class ComparedReport(Result):
    """A report of the service, compared with the one that is recomputed from the books.

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
        Single assumptions about the report under which every figure compared agrees: the days of another zone, an end
        date that is exclusive, entries of the first day in the starting balances, or transfers that are cash; needs
        `line_entries` and `ledgers`.
    scale : int
        Fraction digits of the amounts.
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

    @property
    def ties(self) -> bool:
        """True if every compared figure agrees exactly."""
        return not self.rows

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The figures that differ: :class:`~accounting_analytics.schemas.Differences`."""
        return Differences.from_rows((row.cells for row in self.rows), self.scale)

    @property
    def compared_everything(self) -> bool:
        """True if every figure of the report was compared: also its lines, and totals with descendants."""
        return not any(comparison.not_compared for comparison in self.comparisons)

    @property
    def frame(self) -> pd.DataFrame:
        """The differences."""
        return self.differences

    def summary(self) -> str:
        """One line of text: the period, whether the reports tie, and what was not compared."""
        prefix = "PARTIAL: " if self.partial else ""
        return f"{prefix}Cash flow report, {period_label(self.period)}: {self.verdict}."

    @property
    def verdict(self) -> str:
        """The summary without the period: whether the reports tie, and what was not compared."""
        inferred = ["hierarchy inferred"] if self.hierarchy_inferred else []
        return "; ".join([self._verdict(), *self.not_compared, *inferred])

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Texts that say what was not compared, such as ``totals not compared (3 of 10)``."""
        return describe_not_compared(self.comparisons)

    def _verdict(self) -> str:
        differences = count_of(len(self.rows), "difference")
        if self.without_history:
            return f"{_WITHOUT_HISTORY} ({differences})"
        if self.ties:
            compared = (
                "reported and recomputed cash flow agree" if self.compared_everything else "the figures compared agree"
            )
            return f"{compared} to the last digit"
        causes = sum(row.role == CAUSE for row in self.rows)
        counted = f", {causes} of them {'a cause' if causes == 1 else 'causes'}" if causes < len(self.rows) else ""
        only_totals = all(row.what in TOTALS for row in self.rows)
        return f"{differences}{counted}{', all in totals: the cause is the hierarchy' if only_totals else ''}"

    def _parts(self) -> Iterator[ResultPart]:
        return self.parts()

    def parts(self) -> Iterator[ResultPart]:
        """Yield assumptions that fit, explained causes, figures that follow from them, and counts."""
        yield ResultPart(self._assumptions())
        rows = self._listed()
        for causes, sums in _group_causes(rows):
            yield ResultPart([f"- {_describe(row)}" for row in causes], self._for_people(causes), None)
            yield ResultPart(sums)
        yield ResultPart(self._describe_rest(rows))
        followers = [row for row in rows if row.role != CAUSE]
        yield ResultPart([], self._for_people(followers), _MAX_CONSEQUENCES, "figures that follow; .frame has all")
        width = max(len(kind.title) for kind in KINDS.values())
        lines, table = [f"{'':{width}}  compared  differ  not compared"], []
        for comparison in self.comparisons:
            title = KINDS[comparison.what].title
            counts = comparison.compared, comparison.differing, comparison.not_compared
            proves = "" if comparison.independent else "  (supplied: proves nothing)"
            lines.append(f"{title:{width}}  {counts[0]:>8}  {counts[1]:>6}  {counts[2]:>12}{proves}")
            table.append((title, *counts, "yes" if comparison.independent else "no, supplied"))
        columns = ["figure", "compared", "differ", "not compared", "independent"]
        yield ResultPart(lines, pd.DataFrame(table, columns=columns))

    @property
    def explanations(self) -> tuple[str, ...]:
        """Sentences that say why the reports differ: fitting assumptions, causes, sums, and unexplained amounts."""
        rows = self._listed()
        causes = (text for of_group, sums in _group_causes(rows) for text in (*map(_describe, of_group), *sums))
        return (*self._assumptions(), *causes, *self._describe_rest(rows))

    def _assumptions(self) -> list[str]:
        """Write a sentence for each assumption that fits."""
        return [f"{assumption.sentence} So read, every figure compared agrees." for assumption in self.assumptions]

    def _describe_rest(self, rows: Sequence[Difference]) -> list[str]:
        """Write what is unexplained.

        Also count balances that differ only by the missing history.
        """
        texts = [] if self.assumptions else list(_describe_unexplained(rows))
        if left := len(self.rows) - len(rows):
            differing = count_of(left, "balance differs", "balances differ")
            texts.append(f"- {differing} only by the missing history: see .differences.")
        return texts

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "ties": self.ties,
            "partial": self.partial,
            "compared_everything": self.compared_everything,
            "hierarchy_inferred": self.hierarchy_inferred,
            "comparisons": [comparison._asdict() for comparison in self.comparisons],
            "differences": self.differences,
            "explanations": self.explanations,
            "assumptions": [assumption._asdict() for assumption in self.assumptions],
        }

    def _listed(self) -> list[Difference]:
        """List the differences that the missing history does not explain."""
        if not self.without_history:
            return list(self.rows)
        starting = {_figure_and_ledger(row): row.amount for row in self.rows if row.what.startswith("starting_")}
        return [row for row in self.rows if starting.get(_figure_and_ledger(row)) != row.amount]

    def _for_people(self, rows: Sequence[Difference]) -> pd.DataFrame:
        """Make a table for people, with all digits.

        Columns are in their order, and empty columns are left out.
        """
        exact = Differences.exact_from_rows((row.cells for row in rows), self.scale)
        return exact[[*_SHOWN]].dropna(axis="columns", how="all")


def _figure_and_ledger(row: Difference) -> tuple[str, str | None]:
    """Return the figure and ledger of a difference. Starting and ending balances give the same figure."""
    return row.what.removeprefix("starting_").removeprefix("ending_"), row.ledger_id


def describe_not_compared(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Count the lines and totals that were not compared, if there are any."""
    texts, comparisons = [], list(comparisons)
    for name, kinds in (("lines", ("line",)), ("totals", TOTALS)):
        chosen = [comparison for comparison in comparisons if comparison.what in kinds]
        if left := sum(comparison.not_compared for comparison in chosen):
            texts.append(f"{name} not compared ({left} of {left + sum(comparison.compared for comparison in chosen)})")
    return tuple(texts)


def _describe(row: Difference) -> str:
    """Describe a difference in one line of text."""
    day = f" of {day_label(row.local_date)}" if row.local_date else ""
    text = f' "{row.description}"' if row.description else ""
    account = f" on {row.cash_account}" if row.cash_account else ""
    places = [
        *([_ledger(row)] if row.ledger_id else []),
        *([f"line {row.line_id} of entry {row.journal_entry_id}"] if row.line_id else []),
        *([f"transaction {row.transaction_id}"] if row.transaction_id else []),
    ]
    place = f": {', '.join(places)}" if places else ""
    sides = (("reported", row.reported), ("recomputed", row.recomputed))
    figures = [f"{side} {'nothing' if amount is None else format_amount(amount)}" for side, amount in sides]
    difference = f"{', '.join(figures)}, difference {format_amount(row.amount)}"
    return f"{KINDS[row.what].title}{day}{text}{account}{place}: {difference}: {row.explanation}."


def _ledger(row: Difference) -> str:
    return f"{row.category or row.ledger_name} ({row.ledger_id})"


def _group_causes(rows: Sequence[Difference]) -> Iterator[tuple[list[Difference], list[str]]]:
    """Group the causes, and compare each sum with its figure's difference."""
    lines = _sums_of_lines(rows)
    for kinds, figure, part_of in _GROUPS:
        causes = [row for row in rows if row.role == CAUSE and row.what in kinds]
        counted = [row for row in causes if row.what != "net_cash_flow" or not _unexplained(row, lines)]
        gap = exact_sum(row.amount for row in rows if row.what == part_of)
        if causes:
            yield causes, [_describe_sum(counted, gap, figure)] if figure and counted else []


def _describe_sum(rows: Sequence[Difference], gap: Decimal, figure: str) -> str:
    """Compare the sum of some causes with the difference of a figure."""
    found = exact_sum(row.amount for row in rows)
    subject = f"These {len(rows)} differences sum" if len(rows) > 1 else "This difference amounts"
    text = f"{subject} to {format_amount(found)}"
    if found == gap:
        return f"{text}, the gap of {figure}." if gap else f"{text}: {figure} as a whole agrees."
    if not gap:
        return f"{text}, but {figure} agrees: the report's own figures do not sum up."
    rest = format_amount(EXACT.subtract(gap, found))
    return f"{text}; the gap of {figure} is {format_amount(gap)}, so {rest} of it is unexplained."


def _sums_of_lines(rows: Iterable[Difference]) -> Mapping[str | None, Decimal]:
    """Sum the differing lines of each ledger."""
    return sum_by_key((row.ledger_id, row.amount) for row in rows if row.what == "line")


def _unexplained(row: Difference, lines: Mapping[str | None, Decimal]) -> Decimal:
    """Return the part of a cause that no line or ledger explains."""
    is_lacking = None in (row.reported, row.recomputed) and row.ledger_id not in lines
    if row.what == "net_cash_flow":
        return ZERO if is_lacking else EXACT.subtract(row.amount, lines.get(row.ledger_id, ZERO))
    return ZERO if row.what == "line" or row.explanation in (CASH_ONLY_RECOMPUTED, CASH_ONLY_REPORTED) else row.amount


def _describe_unexplained(rows: Sequence[Difference]) -> Iterator[str]:
    """Name each amount that no line explains."""
    lines = _sums_of_lines(rows)
    for row in rows:
        if row.role == CAUSE and (amount := _unexplained(row, lines)):
            of_ledger = f" of {_ledger(row)}" if row.ledger_id else ""
            yield f"Unexplained: {format_amount(amount)}, {KINDS[row.what].title}{of_ledger}."


def differences_by_month(reconciliations: Sequence[ComparedReport]) -> pd.DataFrame:
    """Tabulate the differences of each ledger by month.

    Lines, totals with descendants and sums of the report repeat these differences. They are listed only for a month
    that has no other differences.
    """
    rows: list[tuple[Any, ...]] = []
    for month in reconciliations:
        own = [row for row in month.rows if row.what in ("net_cash_flow", "starting_balance", "ending_balance")]
        sums = sum_by_key(((row.what, row.ledger_id, row.ledger_name), row.amount) for row in own or month.rows)
        rows.extend((month.period.start_date, *place, amount) for place, amount in sums.items())
    return MonthlyDifferences.from_rows(rows, reconciliations[0].scale if reconciliations else 0)


def compare_reports(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    line_entries: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
) -> ComparedReport:
    """Compare a report of the service with a recomputed report: lines, ledgers, balances, cash and identity.

    The line entries explain lines that only the report has. If the ledgers are also given, single assumptions that
    explain the whole report are tried. Line entries and ledgers are read only if the reports differ.
    """
    notes = _require_comparable(reported, recomputed)
    names = _ledger_names(reported, recomputed)
    with localcontext(EXACT):
        compared = compare_figures(reported, recomputed)
        compared["line"] = compare_lines(reported, recomputed, line_entries, names)
        differs = any(kind.differences for kind in compared.values())
        tree = LedgerTree.from_frame(ledgers) if differs and ledgers is not None else None
        hierarchy = None if tree is None or tree.without_known_parent else tree.hierarchy
        rows = explain_differences(compared, reported, recomputed, hierarchy)
        assumptions = (
            ()
            if tree is None or line_entries is None
            else find_assumptions(reported, recomputed, rows, line_entries, ledgers)
        )
    chart = None if tree is None else LedgerNames(tree.names, tree.hierarchy)
    return ComparedReport(
        period=recomputed.period,
        rows=tuple(_with_names(row, names, chart) for row in rows),
        comparisons=tuple(compared[what].comparison for what in KINDS),
        notes=(
            *notes,
            *(note for what in KINDS for note in compared[what].notes),
            *(f"Reported: {note}" for note in reported.notes),
            *(f"Recomputed: {note}" for note in recomputed.notes),
        ),
        partial=reported.partial or recomputed.partial,
        hierarchy_inferred=bool(recomputed.inferred_roots),
        without_history=not assumptions and _has_no_history(reported, recomputed),
        assumptions=assumptions,
        scale=recomputed.scale,
    )


def _require_comparable(reported: CashFlowReport, recomputed: CashFlowReport) -> list[str]:
    """Refuse reports that cannot be compared.

    Write a note if the time zones differ, but have the same days.
    """
    if reported.tag_ids or recomputed.tag_ids:
        raise InputError(
            "a report filtered by tags cannot be reconciled: its balances are not filtered; load it without tag_ids"
        )
    if reported.scale != recomputed.scale:
        raise InputError(
            f"the reported amounts have {reported.scale} fraction digits, the recomputed ones {recomputed.scale}"
        )
    period, expected = reported.period, recomputed.period
    if (period.start_date, period.end_date) != (expected.start_date, expected.end_date):
        raise InputError(f"the reported period is {period}, the recomputed one {expected}; recompute for the same days")
    if period.time_zone == expected.time_zone:
        return []
    if period.instants() != expected.instants():
        raise InputError(
            f"the reported days are those of {period.time_zone}, the recomputed ones of {expected.time_zone}"
        )
    return [f"{period.time_zone} and {expected.time_zone} have the same days in this period."]


def _ledger_names(*reports: CashFlowReport) -> dict[str, str]:
    """Map every ledger of some reports to its name. The name in the last report is used."""
    tables = [
        (table["ledger_id"], table[name])
        for exact in (report.exact() for report in reports)
        for table, name in (
            (exact.ledgers, "name"),
            (exact.starting_balances, "ledger_name"),
            (exact.ending_balances, "ledger_name"),
        )
    ]
    return {ledger_id: name for ids, names in tables for ledger_id, name in zip(ids, names, strict=True)}


def _with_names(row: Difference, names: Mapping[str, str], chart: LedgerNames | None) -> Difference:
    """Add the ledger's name and path to a difference."""
    if row.ledger_id is None:
        return row
    name = names.get(row.ledger_id)
    path = chart.path(row.ledger_id) if chart and row.ledger_id in chart.ids else name
    return row._replace(ledger_name=name, category=path)


def _has_no_history(reported: CashFlowReport, recomputed: CashFlowReport) -> bool:
    """Return whether only the reported starting balances are not zero."""
    starts, zeros = ((report.exact().starting_balances["cash_balance"] != 0).any() for report in (reported, recomputed))
    return bool(starts and not zeros and not recomputed.anchored)
