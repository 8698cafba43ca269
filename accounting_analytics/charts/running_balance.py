"""Step line of the cash balance by day."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import localcontext
from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.colours import BALANCE_COLOUR
from accounting_analytics.charts.day_lines import DayLine, draw_day_lines, mark_lowest_and_end
from accounting_analytics.charts.figure import (
    first_known_day,
    known_remarks,
    local_dates,
    new_figure,
    require_lines,
    require_untagged,
    table_subtitle,
    unit_text,
)
from accounting_analytics.charts.mark_table import MarkTableBuilder, report_lines
from accounting_analytics.charts.time_axis import time_steps
from accounting_analytics.figures import KEY_SEPARATOR, text_of
from accounting_analytics.money import EXACT, format_amount, sum_by_key
from accounting_analytics.report_figures import BALANCE, NET

if TYPE_CHECKING:
    from decimal import Decimal

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.charts.picture import Picture
    from accounting_analytics.figure_tables import FigureTable

_TITLE = "Cash balance at the end of each day"


def running_balance(report: CashFlowReport, *, currency: str | None = None) -> Picture:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags. Days are local to its time zone. The line of a report that does not tie need not end at
        its ending balance, which the subtitle then names. If it starts at zero, it is drawn from its first line on.
    currency : str, optional
        Written at the axis.

    Raises
    ------
    InputError
        `report` is not a report, is filtered by tags, or has no lines although cash moved.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_untagged(report, "running balance")
    require_lines(report, "running balance")
    given, report = report, report.exact()
    first = first_known_day(report)
    days = [first + dt.timedelta(days=offset) for offset in range((report.period.end_date - first).days + 1)]
    by_day = sum_by_key(zip(local_dates(report), report.lines["amount"], strict=True))
    sums = report.exact_sums()
    with localcontext(EXACT):
        balances = list(itertools.accumulate((by_day[day] for day in days), initial=sums.starting_cash_balance))[1:]
    ending = format_amount(sums.ending_cash_balance)
    gap = [] if balances[-1] == sums.ending_cash_balance else [f"the report ends at {ending}"]
    figure = new_figure(report, _TITLE, *known_remarks(report), *gap)
    keys = [f"{BALANCE}{KEY_SEPARATOR}{day}" for day in days]
    line = DayLine("Cash balance", keys, balances, BALANCE_COLOUR)
    draw_day_lines(figure, report.period, days, [line], unit=unit_text(currency))
    mark_lowest_and_end(figure, days, line)
    figure.update_layout(showlegend=False)
    table = _table(report, dict(zip(days, balances, strict=True)), table_subtitle(figure, unit_text(currency)))
    return figure.with_marks(table, given.__getitem__)


def _table(report: CashFlowReport, balances: dict[dt.date, Decimal], subtitle: str) -> FigureTable:
    """Make the table of what each week, month or quarter moved, and of the balance at its end."""
    table = MarkTableBuilder(["Net cash flow", "Balance at the end"], report_lines(report), report.scale)
    before = report.exact_sums().starting_cash_balance
    for step in time_steps(report.period, None).steps:
        first, last = step.period.start_date, step.period.end_date
        if last not in balances:
            continue
        with localcontext(EXACT):
            net = balances[last] - before
        flow = table.sum(f"{NET}{KEY_SEPARATOR}{step.key}", net, table.series, (f"{first}", f"{last}"))
        terms = [("+", f"Balance before {first}", text_of(before)), ("+", f"Net cash flow, {step.label}", text_of(net))]
        end = table.derived(f"{BALANCE}{KEY_SEPARATOR}{last}", text_of(balances[last]), terms)
        table.row(step.label, [flow, end])
        before = balances[last]
    return table.build(_TITLE, subtitle)
