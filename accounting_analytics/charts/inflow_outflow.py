"""Bars of cash in and out by week, month or quarter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.chart_of_accounts import RequiredLedger, required_ledger
from accounting_analytics.charts.figure import (
    add_message,
    first_known_day,
    known_remarks,
    local_dates,
    mark_data,
    mark_sizes,
    new_figure,
    require_lines,
    table_subtitle,
    tag_remarks,
    unit_text,
)
from accounting_analytics.charts.labels import INFLOW_COLOUR, INK, OUTFLOW_COLOUR, pattern
from accounting_analytics.charts.mark_table import MarkTableBuilder, report_lines
from accounting_analytics.charts.time_axis import bar_width, draw_time_axis, time_steps, trace_days
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.money import exact_sum, sum_by_key
from accounting_analytics.report_figures import INFLOW, NET, OUTFLOW, WITHOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.charts.time_axis import PeriodUnit

_HEADS = {"Inflow": ("in",), "Outflow": ("out",), "Net": ("in", "out")}
"""Columns of the table, and the series of lines that each sums."""


def inflow_outflow(
    report: CashFlowReport,
    *,
    by: PeriodUnit | None = None,
    ledgers: pd.DataFrame | None = None,
    tag_names: Mapping[str, str] | None = None,
    currency: str | None = None,
) -> Picture:
    """Bars of cash in and cash out by week, month or quarter, with a line for the net.

    Parameters
    ----------
    report : CashFlowReport
        Periods are local to the report's time zone; the first and last may be cut. Those before the first line of a
        report that starts at zero are not drawn.
    by : {"week", "month", "quarter"}, optional
        By default weeks up to two months, months up to three years, and quarters of longer periods.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`, in which the ledger of transfers between own accounts is found,
        so that these count neither as inflow nor as outflow. Transfers within one journal entry never do.
    tag_names : mapping of str to str, optional
        Names of tags by id, for a report that was filtered by tags.
    currency : str, optional
        Written at the axis.

    Returns
    -------
    Picture
        Inflows point up, outflows point down and are hatched, the net is a line with markers.

    Raises
    ------
    InputError
        `report` is not a report, or has no lines although cash moved, or `by` is none of the three.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_lines(report, "chart of inflow and outflow")
    steps = time_steps(report.period, by)
    given, report = report, report.exact()
    shown = [step for step in steps.steps if step.period.end_date >= first_known_day(report)]
    steps = steps._replace(steps=shown)
    transfers = _transfer_ledgers(ledgers)
    lines = report.lines[~report.lines["ledger_id"].isin(transfers)]
    starts = pd.Index([step.period.start_date for step in steps.steps])
    place = starts.searchsorted(local_dates(report)[lines.index], side="right") - 1
    amounts = lines["amount"].to_numpy(dtype=object)
    inflows = sum_by_key(zip(place[amounts > 0], amounts[amounts > 0], strict=True))
    outflows = sum_by_key(zip(place[amounts < 0], amounts[amounts < 0], strict=True))
    inflow, outflow = ([sums[at] for at in range(len(starts))] for sums in (inflows, outflows))
    net = [exact_sum(pair) for pair in zip(inflow, outflow, strict=True)]
    without = "".join(f"{KEY_SEPARATOR}{WITHOUT}{one}" for one in transfers)

    def data(name: str, sums: list[Decimal]) -> dict[str, Any]:
        keys = [f"{name}{KEY_SEPARATOR}{step.key}{without}" for step in steps.steps]
        marks = mark_data(keys, [step.label for step in steps.steps], sums)
        return {**marks, "hovertemplate": "%{customdata[2]}", **trace_days(steps)}

    remarks = [
        *known_remarks(report),
        _transfer_remark(ledgers, transfers),
        *tag_remarks(report, dict(tag_names or {})),
    ]
    title = f"Cash in and out by {steps.unit}"
    figure = new_figure(report, title, *remarks)
    figure.add_bar(y=mark_sizes(inflow), name="Inflow", marker_color=INFLOW_COLOUR, **data(INFLOW, inflow))
    figure.add_bar(
        y=mark_sizes(outflow),
        name="Outflow",
        marker={"color": OUTFLOW_COLOUR, "pattern": pattern("/")},
        **data(OUTFLOW, outflow),
    )
    figure.add_scatter(
        y=mark_sizes(net),
        name="Net",
        mode="lines+markers",
        line={"color": INK, "width": 1.5},
        marker={"symbol": "diamond", "size": 7},
        **data(NET, net),
    )
    figure.update_layout(barmode="relative", hovermode="x unified")
    figure.update_traces(width=bar_width(steps.unit, report.period), selector={"type": "bar"})
    draw_time_axis(figure, steps.unit, report.period)
    figure.update_yaxes(title_text=unit_text(currency))
    keys = {name: [mark[0] for mark in trace.customdata] for name, trace in zip(_HEADS, figure.data, strict=True)}
    table = MarkTableBuilder(list(_HEADS), report_lines(report, transfers), report.scale)
    for at, step in enumerate(steps.steps):
        days = (step.period.start_date.isoformat(), step.period.end_date.isoformat())
        cells = [
            table.sum(keys[head][at], sums[at], [one for one in table.series if one[1] in signs], days)
            for (head, signs), sums in zip(_HEADS.items(), (inflow, outflow, net), strict=True)
        ]
        table.row(step.label, cells)
    if lines.empty:
        add_message(figure, "No cash moved in this period")
        figure.update_yaxes(showticklabels=False, range=[-1, 1])
    return figure.with_marks(table.build(title, table_subtitle(figure, unit_text(currency))), given.__getitem__)


def _transfer_ledgers(ledgers: pd.DataFrame | None) -> list[str]:
    """Find the ledgers of transfers between own accounts."""
    if ledgers is None:
        return []
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    known = ledgers[ledgers["is_required"].fillna(value=False).astype(bool)]
    columns = (known[name] for name in ("id", "is_required", "sub_type", "debit_credit"))
    return sorted(
        ledger_id
        for ledger_id, is_required, sub_type, side in zip(*columns, strict=True)
        if required_ledger(is_required=bool(is_required), sub_type=sub_type, debit_credit=side)
        == RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS
    )


def _transfer_remark(ledgers: pd.DataFrame | None, transfers: list[str]) -> str:
    if ledgers is None:
        return "transfers through a ledger of their own are counted: pass ledgers to leave them out"
    return "without transfers between own accounts" if transfers else "there is no ledger of transfers"
