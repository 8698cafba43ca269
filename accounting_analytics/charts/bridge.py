"""Waterfall from a total before, over the steps of a bridge, to the total after."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.bridges import Bridge
from accounting_analytics.bridges.result import AFTER, BEFORE, CHANGE
from accounting_analytics.charts.figure import table_subtitle, titled_figure, unit_text
from accounting_analytics.charts.labels import escaped
from accounting_analytics.charts.mark_table import MarkTableBuilder, entry_lines
from accounting_analytics.charts.steps import StepMark, draw_waterfall
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR

if TYPE_CHECKING:
    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.figure_tables import FigureCell, FigureTable


_SMALLER = "smaller_changes"
"""Begin of the key of the step for all smaller changes."""


def bridge(bridge: Bridge, *, currency: str | None = None) -> Picture:
    """Waterfall of a bridge: its total before, its steps in their order, its total after.

    Parameters
    ----------
    bridge : Bridge
        As :func:`~accounting_analytics.bridge` returns it; its `largest` decides how many steps there are.
    currency : str, optional
        Written at the axis.

    Raises
    ------
    InputError
        `bridge` is not a bridge.
    """
    if not isinstance(bridge, Bridge):
        raise InputError(f"bridge must be a Bridge, as bridge() returns it, not {type(bridge).__name__}")

    def mark(key: str, label: str) -> StepMark:
        return StepMark(key, label, bridge[key].exact() or Decimal(0))

    marks = [
        mark("before", bridge.before),
        *(mark(step.key, step.label) for step in bridge.steps),
        mark("after", bridge.after),
    ]
    days = f"{escaped(bridge.before)} to {escaped(bridge.after)}"
    figure = titled_figure(bridge.title, days, f"days in {bridge.time_zone}")
    draw_waterfall(figure, marks, unit=unit_text(currency))
    subtitle = table_subtitle(figure, unit_text(currency))
    return figure.with_marks(_table(bridge, marks, subtitle), bridge.__getitem__)


def _table(bridge: Bridge, marks: list[StepMark], subtitle: str) -> FigureTable:
    """Make the table of both sides and the change of each step; lines before are negated, as in the change."""
    steps = [mark for mark in marks[1:-1] if not mark.key.startswith(_SMALLER)]
    lines = []
    for side, sign in ((BEFORE, -1), (AFTER, 1)):
        rest = bridge[side].entries
        for mark in steps:
            entries = bridge[f"{mark.key}{KEY_SEPARATOR}{side}"].entries
            rest = rest[~rest["id"].isin(entries["id"])]
            lines += entry_lines(entries, bridge.scale, f"{mark.key}{KEY_SEPARATOR}{side}", sign)
        lines += entry_lines(rest, bridge.scale, f"{_SMALLER}{KEY_SEPARATOR}{side}", sign)
    heads = [bridge.before, bridge.after, "Change"]
    table = MarkTableBuilder(heads, lines, bridge.scale)
    for mark in marks[1:-1]:
        group = _SMALLER if mark.key.startswith(_SMALLER) else mark.key
        table.row(mark.label, _cells(table, mark.key, group))
    table.row(bridge.title, _cells(table, "", ""), "total")
    return table.build(bridge.title, subtitle)


def _cells(table: MarkTableBuilder, key: str, group: str) -> list[FigureCell]:
    """Both sides of a step and its change; of the whole without a key."""
    series = {
        side: [
            one
            for one in table.series
            if one[1] == f"{group}{KEY_SEPARATOR}{side}" or (not group and one[1].endswith(side))
        ]
        for side in (BEFORE, AFTER)
    }
    keys = [f"{key}{KEY_SEPARATOR}{side}" if key else side for side in (BEFORE, AFTER)]
    return [
        table.sum(keys[0], table.total(series[BEFORE], -1), series[BEFORE], factor=-1),
        table.sum(keys[1], table.total(series[AFTER]), series[AFTER]),
        table.sum(key or CHANGE, table.total([*series[BEFORE], *series[AFTER]]), [*series[BEFORE], *series[AFTER]]),
    ]
