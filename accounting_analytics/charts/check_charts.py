"""Chart of what differs between reported and recomputed months."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.charts.labels import BALANCE_COLOUR, OUTFLOW_COLOUR, amount_label, shortened
from accounting_analytics.charts.marks import ChartMarks, Place, Series, day_remarks, unit_text
from accounting_analytics.charts.plotly_charts import Picture
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import month_name
from accounting_analytics.core.schemas import MonthlyDifferences
from accounting_analytics.reconciliation.reconciliation import Reconciliation, differences_by_month
from accounting_analytics.reports.figures import KEY_SEPARATOR, OWN

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.core.periods import Period

_TIES, _DIFFERS = "=", "\N{NOT EQUAL TO}"
_TITLES = {"net_cash_flow": "", "starting_balance": ", start", "ending_balance": ", end"}


class _Row(NamedTuple):
    """A figure of a ledger."""

    what: str
    ledger_id: str
    label: str

    @property
    def place(self) -> int:
        """Flows are above starting and ending balances, and these above all else."""
        return list(_TITLES).index(self.what) if self.what in _TITLES else len(_TITLES)

    @property
    def key(self) -> str:
        """Key of a net cash flow in the report of a month; balances of ledgers are no figures of a report."""
        return (
            f"{OWN}{self.ledger_id}" if self.what == "net_cash_flow" else f"{self.what}{KEY_SEPARATOR}{self.ledger_id}"
        )


def reconciled_months(months: Sequence[Reconciliation], *, currency: str | None = None) -> Picture:
    """Heat map of the differences of reconciled months: a row for each figure that differs, a column for each month.

    Blue cells are more in the report than recomputed, orange ones less; the deeper the colour, the larger the
    difference, which is written in the cell. A cell with ``=`` ties. A month that differs in nothing but lines, totals
    or sums of the report has a row for these.

    Parameters
    ----------
    months : sequence of Reconciliation
        As in ``reconcile_months(...).reconciliations``.
    currency : str, optional
        Named in the subtitle.

    Returns
    -------
    Picture
        The first ``customdata`` of a cell is the key of a net cash flow, such as ``own:led_rent``, in the report of its
        month; of any other figure it is what differs and the id of the ledger. There is no table of figures.

    Raises
    ------
    InputError
        There are no months, or `months` is something else.
    """
    hint = "pass reconciliations of what reconcile_months returns"
    require_type(months, Sequence, "months", hint)
    for month in months:
        require_type(month, Reconciliation, "one of the months", hint)
    if not months:
        raise InputError(f"there are no months to draw; {hint}")
    exact = MonthlyDifferences.exact(differences_by_month(months))
    found: dict[_Row, dict[dt.date, Decimal]] = {}
    for record in exact.frame.to_dict("records"):
        found.setdefault(_row(record), {})[record["start_date"].date()] = record["difference"]
    rows = sorted(found, key=lambda row: (row.place, -max(map(abs, found[row].values())), row.label))
    series, tie = [], from_minor_units(0, exact.scale)
    for row in rows:
        cells = [found[row].get(month.period.start_date) for month in months]
        texts = [_TIES if one is None else amount_label(one, sign=True) if one else _DIFFERS for one in cells]
        amounts = [tie if one is None else one for one in cells]
        keys = [row.key] * len(months)
        series.append(Series(name=row.label, keys=keys, amounts=amounts, colour=BALANCE_COLOUR, shown=texts))
    largest = max((abs(one) for of_row in found.values() for one in of_row.values()), default=Decimal(0))
    everything = all(month.compared_everything for month in months)
    all_tie = f"All {count_of(len(months), 'month')} tie{'' if everything else ' in the figures compared'}"
    return Picture.of(
        ChartMarks(
            title="Reported less recomputed, by month",
            remarks=[*_remarks(months), *([currency] if currency else [])],
            unit=unit_text(currency),
            kind="cells",
            places=[_place(month.period) for month in months],
            series=series,
            message="" if found else all_tie,
            full=largest or Decimal(1),
            opposite_colour=OUTFLOW_COLOUR,
        )
    )


def _remarks(months: Sequence[Reconciliation]) -> list[str]:
    """Days, limits and the meaning of the colours."""
    first, last = months[0].period, months[-1].period
    untied = sum(not month.ties for month in months)
    partial = ["PARTIAL: lines are missing"] if any(month.partial for month in months) else []
    return [
        *day_remarks(first.start_date, last.end_date, first.time_zone),
        f"{untied} of {count_of(len(months), 'month')} differ{'s' if untied == 1 else ''}",
        *partial,
        "blue + more in the report, orange \N{MINUS SIGN} less, = ties",
    ]


def _row(difference: dict[Any, Any]) -> _Row:
    what, ledger_id, name = (difference[one] for one in ("what", "ledger_id", "ledger_name"))
    ledger = shortened(name) if isinstance(name, str) else ""
    label = f"{ledger}{_TITLES[what]}" if what in _TITLES else ", ".join(filter(None, [ledger, what.replace("_", " ")]))
    return _Row(what, ledger_id if isinstance(ledger_id, str) else "", label)


def _place(period: Period) -> Place:
    """Month of a period, or its days where it is longer."""
    is_month = (period.start_date.year, period.start_date.month) == (period.end_date.year, period.end_date.month)
    if is_month:
        month = month_name(period.start_date)
        return Place(f"{month} {period.start_date.year}", month, f"{period.start_date.year}")
    return Place(f"{period.start_date} to {period.end_date}", f"{period.start_date}")
