"""The cash flow report: four validated tables, their totals, and remarks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.money import format_amount, to_float
from accounting_analytics.core.periods import period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines
from accounting_analytics.reports.figures.figure_table import MAX_LINES, figure_table_html, table_of_figures
from accounting_analytics.reports.figures.numbered_lines import LineTable
from accounting_analytics.reports.figures.report_figures import CashFlowReportFigures

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator
    from decimal import Decimal

    from accounting_analytics.core.periods import Period
    from accounting_analytics.core.schemas import ExactReport
    from accounting_analytics.reports.figures.figure import Figure


@dataclass(frozen=True, repr=False)
class CashFlowReport(Result):
    """A cash flow report, loaded from the service or recomputed from line entries.

    Parameters
    ----------
    period : Period
        The reported days, with their time zone.
    anchored : bool
        True if the starting balances were given, not summed from history: they then prove nothing.
    tag_ids : tuple of str
        Tags that the lines were filtered by; balances are never filtered, so the identity does not hold.
    partial : bool
        True if lines are known to be missing or added, so that no figure is certain.
    inferred_roots : tuple of str
        Ids of the ledgers that a recomputed report takes for roots, because the service does not show their parents.
    origin : {"loaded", "recomputed"}, optional
        Whether the service computed the report, or :func:`~accounting_analytics.recompute_cash_flow`; None if it was
        made otherwise. Copies and pickles keep it.
    totals_only : bool
        True if it was recomputed without its lines, so that `lines` is empty.
    read_at : datetime, optional
        When a loaded report was requested.
    company, currency : str or None
        As the client or the books state them.
    notes : tuple of str
        Remarks for the reader: interpretations chosen, values normalized, parts omitted.

    Notes
    -----
    Frames and single amounts have floats, and raise AmountError where an amount has 10**15 minor units or more; `exact`
    has every amount.
    """

    period: Period
    _exact: ExactReport
    anchored: bool = False
    tag_ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    partial: bool = False
    inferred_roots: tuple[str, ...] = ()
    origin: Literal["loaded", "recomputed"] | None = None
    totals_only: bool = False
    read_at: dt.datetime | None = None
    company: str | None = None
    currency: str | None = None

    @property
    def ledgers(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashFlowLedgers`: the ledgers that moved cash."""
        return CashFlowLedgers.with_floats(self._exact.ledgers)

    @property
    def lines(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashFlowLines`, ordered by ledger, then (datetime, line_id)."""
        return CashFlowLines.with_floats(self._exact.lines)

    @property
    def starting_balances(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashBalances` at the start of the first day."""
        return CashBalances.with_floats(self._exact.starting_balances)

    @property
    def ending_balances(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashBalances` at the end of the last day."""
        return CashBalances.with_floats(self._exact.ending_balances)

    @property
    def starting_cash_balance(self) -> float:
        """Sum of the starting balances; totals, which would count children twice, are left out."""
        return self._float("starting_cash_balance")

    @property
    def ending_cash_balance(self) -> float:
        """Sum of the ending balances, without totals."""
        return self._float("ending_cash_balance")

    @property
    def net_cash_flow(self) -> float:
        """Sum of the net cash flows of all ledgers, without their totals."""
        return self._float("net_cash_flow")

    @property
    def identity_gap(self) -> float:
        """Net cash flow minus the change of the cash balance; zero in a correct report without tags."""
        return self._float("identity_gap")

    def exact(self) -> ExactReport:
        """Return the four tables with Arrow decimals, and the balances and sums as Decimals."""
        return self._exact.copy()

    def without_lines(self) -> CashFlowReport:
        """Return the report without its lines, so that :func:`reconcile` does not compare lines."""
        return replace(self, _exact=self._exact._replace(lines=self._exact.lines.head(0)), totals_only=False)

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self._exact.scale

    def __getitem__(self, name: str) -> Figure:
        """Return the figure of a ledger, its total, or of a sum.

        A ledger is found by its id or unique name, a sum as in ``report["Net cash flow"]``.
        """
        return self.figures.figure(name)

    def row(self, name: str, *, own: bool = False) -> dict[str, Figure]:
        """Return the figure of a row by column key. A report has one column, its period.

        The figure of a ledger is its total, or with `own` its own amount.
        """
        return {f"{self.period.start_date}/{self.period.end_date}": self.figures.figure(name, own=own)}

    @property
    def figures(self) -> CashFlowReportFigures:
        """All figures, for results that are calculated from figures."""
        return CashFlowReportFigures(
            self.period,
            self._exact.ledgers,
            self._exact.lines,
            self._exact.starting_cash_balance,
            self._exact.ending_cash_balance,
            self.scale,
            self.totals_only,
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The ledgers that moved cash."""
        return self.ledgers

    def summary(self) -> str:
        """Return one line of text: the period and the three sums."""
        prefix = "PARTIAL: " if self.partial else ""
        tags = f"; only lines tagged {', '.join(self.tag_ids)}, balances are not filtered" if self.tag_ids else ""
        sums = ", ".join(f"{name} {format_amount(amount)}" for name, amount in self._sums())
        return f"{prefix}Cash flow report, {period_label(self.period)}{tags}: {sums}."

    def _parts(self) -> Iterator[ResultPart]:
        """Yield the sums, and the net cash flow of each ledger."""
        exact = self._exact.ledgers
        names, amounts = zip(*self._sums(), strict=True)
        yield ResultPart(table=pd.DataFrame({"": names, "amount": amounts}))
        flows = zip(exact["name"], exact["net_cash_flow"], strict=True)
        ledgers = [f"- {name}: {format_amount(amount)}" for name, amount in flows]
        yield ResultPart(ledgers, html=self._ledgers_html)

    def _ledgers_html(self) -> str:
        """Write the net cash flow and the total of each ledger.

        Only the net cash flow unfolds.
        """
        figures = self.figures
        rows = []
        for ledger_id, name in figures.names.items():
            own, total = figures.figure(ledger_id, own=True), figures.figure(ledger_id)
            # a report states totals without their lines, so they do not unfold
            rows.append((name, [own, replace(total, terms=(), signs=(), _load_entries=None)]))
        selections = [part for _, (own, _) in rows for part in own.selections]
        shown = figures.shown_lines(figures.names.keys(), MAX_LINES)
        table = table_of_figures(
            "Net cash flow by ledger",
            [period_label(self.period)],
            ["Net cash flow", "With descendants"],
            rows,
            None if shown is None else LineTable(shown, selections),
            scale=self.scale,
            call="report[{row!r}].entries",
            name=figures.names.__getitem__,
        )
        return figure_table_html(table) if rows else ""

    def _content(self) -> dict[str, Any]:
        exact = self._exact
        return asdict(self.period) | {
            "starting_cash_balance": exact.starting_cash_balance,
            "ending_cash_balance": exact.ending_cash_balance,
            "tag_ids": self.tag_ids,
            "anchored": self.anchored,
            "partial": self.partial,
            "origin": self.origin,
            "totals_only": self.totals_only,
            "inferred_roots": self.inferred_roots,
            "ledgers": exact.ledgers,
            "lines": exact.lines,
            "starting_balances": exact.starting_balances,
            "ending_balances": exact.ending_balances,
        }

    def _float(self, name: str) -> float:
        """Convert an exact sum to a float."""
        try:
            return to_float(getattr(self._exact, name), self.scale)
        except AmountError as error:
            raise AmountError(f"{name}: {error}") from None

    def _sums(self) -> list[tuple[str, Decimal]]:
        """Return the titles and exact amounts of the three sums."""
        sums = self._exact
        anchored = " (anchored)" if self.anchored else ""
        return [
            (f"starting cash balance{anchored}", sums.starting_cash_balance),
            ("net cash flow", sums.net_cash_flow),
            ("ending cash balance", sums.ending_cash_balance),
        ]


def require_report(value: object, name: str) -> None:
    """Refuse an argument that is not a cash flow report."""
    hint = "load_cash_flow_report(client, ...) loads one, recompute_cash_flow(books) makes one"
    require_type(value, CashFlowReport, name, hint)
