"""The cash flow report: four validated tables, their totals, and what a reader must know about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import (
    decimal_scale,
    exact_amounts,
    exact_frame,
    find_scale,
    is_decimal,
    total,
)
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.load_metadata import stated_scales
from accounting_analytics.core.money import EXACT, exact_amount, format_amount, to_float
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines
from accounting_analytics.reports.figure_table import MAX_LINES, figure_table_html, table_of_figures
from accounting_analytics.reports.line_table import LineTable
from accounting_analytics.reports.report_figures import ReportFigures

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterator

    from accounting_analytics.core.periods import Period
    from accounting_analytics.core.schemas import Table
    from accounting_analytics.reports.figures import Figure


class CashSums(NamedTuple):
    """The exact sums of a report: what `CashFlowReport` has as floats where its tables have floats."""

    starting_cash_balance: Decimal
    net_cash_flow: Decimal
    ending_cash_balance: Decimal

    @property
    def identity_gap(self) -> Decimal:
        """Net cash flow minus the change of the cash balance."""
        with localcontext(EXACT):
            return self.net_cash_flow - (self.ending_cash_balance - self.starting_cash_balance)


@dataclass(frozen=True, repr=False)
class CashFlowReport(Result):
    """A cash flow report, loaded from the service or recomputed from line entries.

    Parameters
    ----------
    period : Period
        The reported days, with their time zone.
    ledgers : DataFrame
        :class:`CashFlowLedgers`.
    lines : DataFrame
        :class:`CashFlowLines`, in the order of `ledgers`, then (datetime, line_id).
    starting_balances, ending_balances : DataFrame
        :class:`CashBalances` at the start of the first day and the end of the last.
    starting_cash_balance, ending_cash_balance : float or Decimal
        Sums of the plain balances (not of the totals, which count children twice): floats where the tables have
        float64, else Decimals. A report that is made with either of them converts it.
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
    notes : tuple of str
        Remarks for the reader: interpretations chosen, values normalized, parts omitted.
    """

    period: Period
    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting_balances: pd.DataFrame
    ending_balances: pd.DataFrame
    starting_cash_balance: float | Decimal
    ending_cash_balance: float | Decimal
    anchored: bool = False
    tag_ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    partial: bool = False
    inferred_roots: tuple[str, ...] = ()
    origin: Literal["loaded", "recomputed"] | None = None
    totals_only: bool = False
    read_at: dt.datetime | None = None

    def __post_init__(self) -> None:
        for name in ("starting_cash_balance", "ending_cash_balance"):
            exact = self._exact_amount(name)
            object.__setattr__(self, name, self._as_in_tables(exact, name))

    def checked(self) -> CashFlowReport:
        """Return the report if its four tables are valid; else raise FrameError."""
        CashFlowLedgers.require_valid(self.ledgers)
        CashFlowLines.require_valid(self.lines)
        CashBalances.require_valid(self.starting_balances)
        CashBalances.require_valid(self.ending_balances)
        return self

    def exact(self, *, is_valid: bool = False) -> CashFlowReport:
        """Return the report with Arrow decimals in its tables, and Decimals, for calculations.

        Parameters
        ----------
        is_valid : bool
            Whether the tables are as they were loaded or recomputed, so that only their amounts are converted.

        Raises
        ------
        AmountError
            An amount is not a whole number of minor units.
        FrameError
            A table is not valid.
        """

        def exact(kind: type[Table], table: pd.DataFrame) -> pd.DataFrame:
            if is_valid:
                return exact_frame(table, kind.amount_columns(), scale=self.scale).frame
            return kind.exact(table, scale=self.scale).frame

        return replace(
            self,
            ledgers=exact(CashFlowLedgers, self.ledgers),
            lines=exact(CashFlowLines, self.lines),
            starting_balances=exact(CashBalances, self.starting_balances),
            ending_balances=exact(CashBalances, self.ending_balances),
        )

    def exact_sums(self) -> CashSums:
        """Return the cash balances and the net cash flow as Decimals, whatever the tables have.

        Raises
        ------
        AmountError
            A net cash flow is not a whole number of minor units.
        """
        flows = exact_amounts(self.ledgers["net_cash_flow"], self.scale, self.ledgers["ledger_id"])
        return CashSums(
            starting_cash_balance=self._exact_amount("starting_cash_balance"),
            net_cash_flow=total(flows.column),
            ending_cash_balance=self._exact_amount("ending_cash_balance"),
        )

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return find_scale([*stated_scales(self.ledgers), decimal_scale(self.ledgers["net_cash_flow"])]).scale

    @property
    def as_decimals(self) -> bool:
        """Whether the tables have Arrow decimals instead of float64."""
        return is_decimal(self.ledgers["net_cash_flow"].dtype)

    @property
    def net_cash_flow(self) -> float | Decimal:
        """Sum of the net cash flows of all ledgers, without their totals."""
        return self._as_in_tables(self.exact_sums().net_cash_flow, "net_cash_flow")

    @property
    def identity_gap(self) -> float | Decimal:
        """Net cash flow minus the change of the cash balance; zero in a correct report without tags."""
        return self._as_in_tables(self.exact_sums().identity_gap, "identity_gap")

    def __getitem__(self, name: str) -> Figure:
        """Figure of a ledger (its total), by id or unique name, or of a sum: ``report["Net cash flow"]``."""
        return self.figures.figure(name)

    def row(self, name: str, *, own: bool = False) -> dict[str, Figure]:
        """Figure of a row by its column, of which a report has one: the total of a ledger, or its `own` amount."""
        return {f"{self.period.start_date}/{self.period.end_date}": self.figures.figure(name, own=own)}

    def entries_of(self, ledger_ids: Collection[str], exact: Decimal) -> pd.DataFrame:
        """Lines of some ledgers, which sum to an amount."""
        return self.figures.entries_of(ledger_ids, exact)

    @property
    def figures(self) -> ReportFigures:
        """All figures, and what they are made from: what other results are built on."""
        exact, sums = self.exact(), self.exact_sums()
        return ReportFigures(
            self.period,
            exact.ledgers,
            self.lines,
            exact.lines["amount"],
            sums.starting_cash_balance,
            sums.ending_cash_balance,
            self.scale,
            self.as_decimals,
            self.totals_only,
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The ledgers that moved cash."""
        return self.ledgers

    def summary(self) -> str:
        """One line: the period and the three sums."""
        prefix = "PARTIAL: " if self.partial else ""
        sums = ", ".join(f"{name} {format_amount(amount)}" for name, amount in self._sums())
        return f"{prefix}{self._title()}: {sums}."

    def _parts(self) -> Iterator[ResultPart]:
        """Show the sums in HTML, and the net cash flow of each ledger."""
        exact = self.exact().ledgers
        names, amounts = zip(*self._sums(), strict=True)
        yield ResultPart(table=pd.DataFrame({"": names, "amount": amounts}))
        flows = zip(exact["name"], exact["net_cash_flow"], strict=True)
        ledgers = [f"- {name}: {format_amount(amount)}" for name, amount in flows]
        yield ResultPart(ledgers, html=self._ledgers_html)

    def _ledgers_html(self) -> str:
        """Write the flow of each ledger, whose lines unfold, and its total, which a report only states."""
        figures = self.figures
        rows = []
        for ledger_id, name in figures.names.items():
            own, total = figures.figure(ledger_id, own=True), figures.figure(ledger_id)
            rows.append((name, [own, replace(total, terms=(), signs=(), _load_entries=None)]))
        selections = [part for _, (own, _) in rows for part in own.selections]
        shown = figures.shown_lines(figures.names.keys(), MAX_LINES)
        table = table_of_figures(
            "Net cash flow by ledger",
            [str(self.period)],
            ["Net cash flow", "With descendants"],
            rows,
            None if shown is None else LineTable(shown, selections),
            scale=self.scale,
            call="report[{row!r}].entries",
            name=figures.names.__getitem__,
        )
        return figure_table_html(table) if rows else ""

    def _content(self) -> dict[str, Any]:
        exact, sums = self.exact(), self.exact_sums()
        return asdict(self.period) | {
            "starting_cash_balance": sums.starting_cash_balance,
            "ending_cash_balance": sums.ending_cash_balance,
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
            "notes": self.notes,
        }

    def _title(self) -> str:
        tags = f"; only lines tagged {', '.join(self.tag_ids)}, balances are not filtered" if self.tag_ids else ""
        return f"Cash flow report, {self.period}{tags}"

    def _exact_amount(self, name: str) -> Decimal:
        """Exact amount of a field, which may hold a float."""
        try:
            return exact_amount(getattr(self, name), self.scale)
        except AmountError as error:
            raise AmountError(f"{name}: {error}") from None

    def _as_in_tables(self, amount: Decimal, name: str) -> float | Decimal:
        """Amount in the form that the tables have."""
        if self.as_decimals:
            return amount
        try:
            return to_float(amount, self.scale)
        except AmountError as error:
            raise AmountError(f"{name}: {error}") from None

    def _sums(self) -> list[tuple[str, Decimal]]:
        """Titles and exact amounts of the three sums."""
        sums = self.exact_sums()
        anchored = " (anchored)" if self.anchored else ""
        return [
            (f"starting cash balance{anchored}", sums.starting_cash_balance),
            ("net cash flow", sums.net_cash_flow),
            ("ending cash balance", sums.ending_cash_balance),
        ]


def require_report(value: object, name: str) -> None:
    """Refuse an argument that is not a cash flow report."""
    hint = "load_cash_flow_report(client, ...) loads one, recompute_cash_flow(line_entries, ledgers, ...) makes one"
    require_type(value, CashFlowReport, name, hint)
