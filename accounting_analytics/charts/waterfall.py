"""Waterfall from the starting to the ending cash balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import new_figure, require_untagged, table_subtitle, unit_text
from accounting_analytics.charts.mark_table import MarkTableBuilder, plain_cell, report_lines
from accounting_analytics.charts.steps import StepMark, draw_waterfall
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, OWN, text_of
from accounting_analytics.money import exact_sum
from accounting_analytics.report_figures import ENDING, STARTING, UNEXPLAINED

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.figure_tables import FigureCell


def waterfall(report: CashFlowReport, *, largest: int = 10, currency: str | None = None) -> Picture:
    """Waterfall from the starting to the ending cash balance, with a step for each of the largest ledgers.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags: the flows of a tagged report do not lead from one balance to the other. In a report that
        does not tie, the amount that its flows do not explain is a step of its own.
    largest : int
        How many ledgers get a step of their own, by absolute net cash flow; the others share one step.
    currency : str, optional
        Written at the axis.

    Raises
    ------
    InputError
        `report` is not a report or is filtered by tags, or `largest` is not a positive whole number.
    """
    require_report(report, "report")
    require_untagged(report, "waterfall")
    given, report = report, report.exact()
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {largest!r}")
    sums = report.exact_sums()
    marks = [
        StepMark(STARTING, f"Start {report.period.start_date}", sums.starting_cash_balance),
        *_steps(report, largest),
        StepMark(ENDING, f"End {report.period.end_date}", sums.ending_cash_balance),
    ]
    figure = new_figure(report, "From starting to ending cash")
    draw_waterfall(figure, marks, unit=unit_text(currency))
    lines = [] if report.totals_only else report_lines(report)
    table = MarkTableBuilder(["Amount"], lines, report.scale)
    terms = [("+", mark.label, text_of(mark.amount)) for mark in marks[:-1]]
    for mark in marks:
        table.row(mark.label, [_cell(table, mark, terms)], "total" if mark is marks[-1] else "ledger")
    subtitle = table_subtitle(figure, unit_text(currency))
    return figure.with_marks(table.build("From starting to ending cash", subtitle), given.__getitem__)


def _cell(table: MarkTableBuilder, mark: StepMark, terms: list[tuple[str, str, str]]) -> FigureCell:
    """Amount of a step, and what is behind it; a starting balance is only stated."""
    if mark.key == ENDING:
        return table.derived(mark.key, text_of(mark.amount), terms)
    if mark.key in {STARTING, UNEXPLAINED}:
        return plain_cell(mark.amount)
    ledger_ids = {part.removeprefix(OWN) for part in mark.key.split(KEY_SEPARATOR)}
    return table.sum(mark.key, mark.amount, [one for one in table.series if one[0] in ledger_ids])


def _steps(report: CashFlowReport, largest: int) -> list[StepMark]:
    """Return the steps between the balances, inflows first."""
    moved = report.ledgers[report.ledgers["net_cash_flow"] != 0]
    ranked = moved.assign(size=moved["net_cash_flow"].abs()).sort_values("size", ascending=False, kind="stable")
    own, others = ranked.head(largest), ranked.iloc[largest:]
    steps = [
        StepMark(f"{OWN}{ledger_id}", name, amount)
        for ledger_id, name, amount in zip(own["ledger_id"], own["name"], own["net_cash_flow"], strict=True)
    ]
    steps.sort(key=lambda step: step.amount, reverse=True)
    if len(others):
        key = KEY_SEPARATOR.join(f"{OWN}{ledger_id}" for ledger_id in others["ledger_id"])
        label = f"{len(others)} other ledger{'s' if len(others) > 1 else ''}"
        steps.append(StepMark(key, label, exact_sum(others["net_cash_flow"])))
    if gap := report.exact_sums().identity_gap:
        steps.append(StepMark(UNEXPLAINED, "Not explained by the flows", gap.copy_negate()))
    return steps
