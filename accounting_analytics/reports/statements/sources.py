"""Sources of the sums of a statement: what each has to give, and a cash flow report as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.reports.books.book_lines import tag_notes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport
    from accounting_analytics.reports.figures.numbered_lines import ShownLine
    from accounting_analytics.reports.figures.selections import Selection, Span


class Source(Protocol):
    """Sums by ledger and days, with the lines behind them."""

    is_report: bool
    is_tagged: bool
    states_days: bool

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""

    @property
    def loaded(self) -> Period:
        """The loaded days."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader."""

    def missing(self, span: Span, needed: Collection[str] = ()) -> str:
        """Return why needed lines of a span are missing, else ""."""

    def sums(self, spans: Collection[Span]) -> Mapping[Span, Mapping[str, int]]:
        """Sum signed units by ledger, debits positive."""

    def entries(self, parts: Sequence[Selection], units: int) -> pd.DataFrame:
        """Return the lines of `parts`, which sum to `units`."""

    def shown_lines(
        self, spans: Collection[Span], ledger_ids: Collection[str], names: LedgerNames, limit: int
    ) -> list[ShownLine] | None:
        """Return the lines of ledgers and days, or None if they exceed `limit`."""


class ReportSource:
    """A cash flow report as a source of sums. Its balances have no lines."""

    def __init__(self, report: CashFlowReport, openings: Collection[str] = ()) -> None:
        exact = report.exact()
        self.loaded, self.is_tagged, self.states_days = report.period, bool(report.tag_ids), True
        self.report, self.scale, self.is_report = report, report.scale, True
        flows = dict(zip(exact.ledgers["ledger_id"], exact.ledgers["net_cash_flow"], strict=True))
        self._is_opening = report.figures.of_entries_with(openings)
        with_lines = set(exact.lines["ledger_id"][~self._is_opening])
        self.opened = self._opened(exact.lines, openings, flows)
        self.flows = {
            ledger_id: units
            for ledger_id, amount in flows.items()
            if (units := -to_minor_units(amount, self.scale) - self.opened.get(ledger_id, 0))
            or ledger_id in with_lines  # other ledgers are listed only as parents
        }
        self.starting, self.ending = (
            {
                ledger_id: to_minor_units(amount, self.scale)
                for ledger_id, amount in zip(frame["ledger_id"], frame["cash_balance"], strict=True)
            }
            for frame in (exact.starting_balances, exact.ending_balances)
        )
        self.gap = 0 if report.tag_ids else -to_minor_units(exact.identity_gap, self.scale)
        unexplained = format_amount(from_minor_units(self.gap, self.scale))
        remarks = (f"The flows do not explain {unexplained} of the change in cash.",) if self.gap else ()
        self.notes = (*tag_notes(report.tag_ids), *remarks, *report.notes)

    def _opened(self, lines: pd.DataFrame, openings: Collection[str], net: Mapping[str, Decimal]) -> dict[str, int]:
        """Sum opening balances by ledger. Refuse a report without the lines that show them."""
        if lines.empty and any(net.get(ledger_id) for ledger_id in openings):
            raise InputError(
                "the report has opening balances and no lines, so which other flows are of their entries is not known: "
                "recompute it with lines=True, or choose days without them"
            )
        opened: dict[str, int] = {}
        chosen = lines[self._is_opening]
        for ledger_id, amount in zip(chosen["ledger_id"], chosen["amount"], strict=True):
            opened[ledger_id] = opened.get(ledger_id, 0) - to_minor_units(amount, self.scale)
        return opened

    def require_same_cash(self, cash: Collection[str]) -> None:
        """Refuse a chart whose cash ledgers are not those of the report, because amounts would be hidden."""
        balances = () if self.is_tagged else (self.starting, self.ending)
        others = {
            ledger_id
            for of_ledgers in balances
            for ledger_id, units in of_ledgers.items()
            if units and ledger_id not in cash
        }
        others |= (self.flows.keys() | self.opened.keys()) & set(cash)
        if others:
            raise InputError(
                f"the report and the chart of accounts disagree about what is cash: {join_ids(sorted(others))}; "
                "discover the ledgers again"
            )

    def missing(self, span: Span, needed: Collection[str] = ()) -> str:  # noqa: ARG002 (a report has one period)
        """Return "": no lines are missing, because a report states its own period."""
        return ""

    def sums(self, spans: Collection[Span]) -> dict[Span, Mapping[str, int]]:
        """Return the flows and the balances that the report states."""
        last = self.report.period.end_date
        balances = {True: self.ending, False: self.starting}
        flows = {True: self.opened, False: self.flows}
        return {span: flows[span.is_opening] if span.is_flow else balances[span.last == last] for span in spans}

    def entries(self, parts: Sequence[Selection], units: int) -> pd.DataFrame:
        """Return the report's lines of some ledgers."""
        figures, chosen = self.report.figures, np.zeros(len(self._is_opening), dtype=bool)
        for part in parts:
            chosen |= figures.of_ledgers(part.ledger_ids) & (self._is_opening == part.span.is_opening)
        return figures.entries_among(chosen, from_minor_units(units, self.scale))

    def shown_lines(
        self,
        spans: Collection[Span],  # noqa: ARG002 (a report has one period)
        ledger_ids: Collection[str],
        names: LedgerNames,  # noqa: ARG002 (a report's lines have the names)
        limit: int,
    ) -> list[ShownLine] | None:
        """Return the report's lines, or None if it has no lines or too many."""
        figures = self.report.figures
        found = figures.shown_lines(ledger_ids, limit)
        opened = set(figures.lines["journal_entry_id"][self._is_opening])
        if found is None or not opened:
            return found
        return [line._replace(is_flow=line.entry not in opened, is_opening=line.entry in opened) for line in found]
