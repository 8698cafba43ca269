"""Axis of the columns of a statement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from accounting_analytics.statements.columns import StatementColumn

_MAX_LABELLED = 7


def draw_column_axis(figure: go.Figure, columns: Sequence[StatementColumn]) -> None:
    """Label as many columns as have room on a telephone; the year is below the first column of each."""
    every = math.ceil(len(columns) / _MAX_LABELLED)
    shown_year, places, texts = "", [], []
    for place in range(0, len(columns), every):
        name, year = _label_and_year(columns[place])
        places.append(place)
        texts.append(f"{name}<br>{year}" if year != shown_year else name)
        shown_year = year
    figure.update_xaxes(
        tickvals=places, ticktext=texts, tickangle=0, range=[-0.5, len(columns) - 0.5], zeroline=False, fixedrange=True
    )


def _label_and_year(column: StatementColumn) -> tuple[str, str]:
    """Month, quarter or days of a column without its year, and the year."""
    ((_, period),) = column.periods
    first, last = period.start_date, period.end_date
    if (first.year, first.month) == (last.year, last.month):
        return f"{first:%b}", f"{first.year}"
    before, _, year = column.label.rpartition(" ")
    if before.startswith("Q") and year:
        return before, year
    return (f"{first:%b}", f"{first.year}") if before else (column.label, "")
