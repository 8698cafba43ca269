"""Waterfall from the starting to the ending cash balance."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import (
    BALANCE_COLOUR,
    INFLOW_COLOUR,
    OUTFLOW_COLOUR,
    amount_label,
    ledger_label,
    mark_data,
    mark_sizes,
    new_figure,
    require_untagged,
)
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, OWN
from accounting_analytics.money import EXACT, exact_sum
from accounting_analytics.report_figures import ENDING, STARTING, UNEXPLAINED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from accounting_analytics.cash_flow_report import CashFlowReport

_ZERO_LINE = "#BBBBBB"
"""Light enough that an amount which crosses it can be read."""
_LABEL_MARGIN = 0.2
"""Part of the axis left free on each side, enough for an amount in a chart as wide as a sheet of paper."""


class _Step(NamedTuple):
    """A step between the balances: the key of its figure, its name, its amount."""

    key: str
    name: str
    amount: Decimal


def waterfall(report: CashFlowReport, *, largest: int = 10) -> go.Figure:
    """Waterfall from the starting to the ending cash balance, with a step for each of the largest ledgers.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags: the flows of a tagged report do not lead from one balance to the other. In a report that
        does not tie, the amount that its flows do not explain is a step of its own.
    largest : int
        How many ledgers get a step of their own, by absolute net cash flow; the others share one step.

    Raises
    ------
    InputError
        `report` is not a report or is filtered by tags, or `largest` is not a positive whole number.
    """
    require_report(report, "report")
    require_untagged(report, "waterfall")
    report = report.exact()
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {largest!r}")
    steps, sums = _steps(report, largest), report.exact_sums()
    amounts = [sums.starting_cash_balance, *(step.amount for step in steps), sums.ending_cash_balance]
    keys = [STARTING, *(step.key for step in steps), ENDING]
    labels = [
        f"Start {report.period.start_date}",
        *(ledger_label(step.name) for step in steps),
        f"End {report.period.end_date}",
    ]
    positions = list(range(len(labels)))
    figure = new_figure(report, "From starting to ending cash")
    figure.add_waterfall(
        orientation="h",
        y=positions,
        x=mark_sizes(amounts),
        measure=["absolute", *["relative"] * len(steps), "total"],
        text=[
            amount_label(amounts[0]),
            *(amount_label(step.amount, sign=True) for step in steps),
            amount_label(amounts[-1]),
        ],
        textposition="outside",
        textfont={"size": 12},
        constraintext="none",
        cliponaxis=False,
        increasing={"marker": {"color": INFLOW_COLOUR}},
        decreasing={"marker": {"color": OUTFLOW_COLOUR}},
        totals={"marker": {"color": BALANCE_COLOUR}},
        connector={"line": {"color": "#999999", "width": 1, "dash": "dot"}},
        **mark_data(keys, amounts, labels=labels),
    )
    figure.update_layout(showlegend=False, waterfallgap=0.3, height=190 + 30 * len(labels), margin={"r": 40})
    figure.update_yaxes(tickvals=positions, ticktext=labels, autorange="reversed", showgrid=False, zeroline=False)
    figure.update_xaxes(
        tickformat=",", showgrid=True, zeroline=True, zerolinecolor=_ZERO_LINE, range=_axis_range(amounts[:-1])
    )
    return figure


def _steps(report: CashFlowReport, largest: int) -> list[_Step]:
    """Return the steps between the balances, inflows first."""
    moved = report.ledgers[report.ledgers["net_cash_flow"] != 0]
    ranked = moved.assign(size=moved["net_cash_flow"].abs()).sort_values("size", ascending=False, kind="stable")
    own, others = ranked.head(largest), ranked.iloc[largest:]
    steps = [
        _Step(f"{OWN}{ledger_id}", name, amount)
        for ledger_id, name, amount in zip(own["ledger_id"], own["name"], own["net_cash_flow"], strict=True)
    ]
    steps.sort(key=lambda step: step.amount, reverse=True)
    if len(others):
        key = KEY_SEPARATOR.join(f"{OWN}{ledger_id}" for ledger_id in others["ledger_id"])
        steps.append(_Step(key, f"{len(others)} other ledgers", exact_sum(others["net_cash_flow"])))
    if gap := report.exact_sums().identity_gap:
        steps.append(_Step(UNEXPLAINED, "Not explained by the flows", gap.copy_negate()))
    return steps


def _axis_range(changes: Sequence[Decimal]) -> list[float]:
    """Range of all balances along the steps, with a margin for labels."""
    with localcontext(EXACT):
        balances = mark_sizes([Decimal(0), *itertools.accumulate(changes)])
    margin = (max(balances) - min(balances)) * _LABEL_MARGIN or 1.0
    return [min(balances) - margin, max(balances) + margin]
