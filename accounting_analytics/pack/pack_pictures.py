"""The pictures of a pack: charts drawn without a browser, wide for a page, narrow for a telephone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics import charts
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.periods import Period, days_label
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.pack.books_of_pack import ComparedBooks
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reports.payees.bridge import Bridge
    from accounting_analytics.reports.payees.outlook import Outlook
    from accounting_analytics.reports.statements.statement import Statement

WIDE, NARROW, IN_WORKBOOK = 860, 350, 600


class PackPicture(NamedTuple):
    """A chart of a pack, and what it shows, in words."""

    name: str
    text: str
    figure: charts.Picture

    def svg(self, width: int) -> str:
        """Draw the chart as an element of a page."""
        return charts.static_picture(self.figure, format="svg", width=width, title=False)

    def png(self, width: int) -> bytes:
        """Draw the chart as the content of a PNG file."""
        return charts.static_picture(self.figure, format="png", width=width)


def make_pictures(
    books: ComparedBooks,
    periods: PackPeriods,
    bridge: Bridge | None,
    statement: Statement,
    ahead: Outlook | None,
    *,
    amounts_in: AmountsIn | None,
) -> dict[str, PackPicture]:
    """Make the pictures that the books allow, from a statement of the compared periods."""
    found = {}
    wanted: list[tuple[str, str, Callable[[], charts.Picture]]] = [
        (
            "balances",
            f"Cash at the end of each day, {periods.label}",
            lambda: charts.running_balance(recompute_cash_flow(books.books, periods.this)),
        ),
        (
            "payees",
            f"Whom most was paid to, {periods.label}",
            lambda: charts.top_payees(statement.column(periods.key)),
        ),
    ]
    first = max(periods.months[0].start_date, books.days.start_date)
    if first <= periods.this.end_date:  # lines that state no load may begin later
        months = Period(first, periods.this.end_date, periods.this.time_zone)
        text = f"Cash in and out by month, {days_label(months)}"
        wanted.insert(
            1, ("flows", text, lambda: charts.inflow_outflow(recompute_cash_flow(books.books, months), by="month"))
        )
    if bridge is not None:
        text = f"Net change in cash from {bridge.before} to {bridge.after}, by counterparty"
        wanted.insert(1, ("cash_bridge", text, lambda: charts.bridge(bridge)))
    if ahead is not None and ahead.is_better:
        text = f"Cash expected at the end of each of the next {ahead.weeks} weeks, and its 80 % range"
        wanted.append(("outlook", text, lambda: charts.outlook(ahead)))
    for name, text, make in wanted:
        try:
            figure = make()
        except (InputError, KeyError):  # the report has no lines, or its days were not loaded
            continue
        found[name] = PackPicture(name, text, figure.shown_in(amounts_in) if amounts_in else figure)
    return found
