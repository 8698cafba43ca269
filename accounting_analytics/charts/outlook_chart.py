"""Chart of weeks of cash ahead."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.charts.marks import ChartMarks, Place, Series, find_figure, unit_text
from accounting_analytics.charts.picture import Picture
from accounting_analytics.charts.style import BALANCE_COLOUR, OTHERS_COLOUR, OUTFLOW_COLOUR, THICK_LINE, THIN_LINE
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.periods import day_label, month_name
from accounting_analytics.reports.payees.outlook import NO_CASH, Outlook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.reports.figures.figure import Figure


def outlook(result: Outlook) -> Picture:
    """Lines of the balance expected at the end of each week, a band of its 80 % range, and the limit that was given.

    Parameters
    ----------
    result : Outlook
        As :func:`~accounting_analytics.outlook` returns it. Without a range there is one line; where cash is not
        known, a sentence in the place of the lines. A remark says where such outlooks were no better than today's
        balance.

    Raises
    ------
    InputError
        `result` is not an outlook.
    """
    require_type(result, Outlook, "result", "pass what outlook(...) returns")
    weeks = range(1, result.weeks + 1)
    of_row = {name: [result[name, week] for week in weeks] for name in ("cash", "high", "low")}
    series = [_line("Cash at end", of_row["cash"], BALANCE_COLOUR, 0, THICK_LINE)]
    if result.has_range and result.cash.units is not None:
        sides = [_line(f"{name.title()}, 80 %", of_row[name], OTHERS_COLOUR, 1, THIN_LINE) for name in ("high", "low")]
        series += [sides[0], replace(sides[1], is_band=True)]
    if result.limit is not None:
        series.append(_line("Limit", [result.limit] * len(weeks), OUTFLOW_COLOUR, 2, THIN_LINE))
    figures = [figure for row in of_row.values() for figure in row]
    ends = [result.week_end(week) for week in weeks]
    is_known = result.cash.units is not None
    return Picture.of(
        ChartMarks(
            title=f"Cash in the next {result.weeks} weeks",
            remarks=[f"after {day_label(result.end_date)}", *_quality(result)],
            unit=unit_text(result.currency),
            kind="columns",
            places=[Place(f"week to {day_label(end)}", f"{end.day} {month_name(end)}", f"{end.year}") for end in ends],
            series=series,
            message="" if is_known else f"Cash is not known: {NO_CASH}",
            find=partial(find_figure, figures),
            table=result.table if is_known else None,
        )
    )


def _quality(result: Outlook) -> list[str]:
    """Say whether past outlooks were better than two simple forecasts.

    The simple forecasts are today's balance and the plain average.
    """
    if result.is_better:
        return ["expected at the end of each week"]
    return ["expected at the end of each week", "not nearer than today's balance or the plain average in past weeks"]


def _line(name: str, figures: Sequence[Figure], colour: str, number: int, width: float) -> Series:
    return Series(
        name=name,
        keys=[figure.key for figure in figures],
        amounts=[figure.exact() for figure in figures],
        colour=colour,
        is_line=True,
        number=number,
        width=width,
    )
