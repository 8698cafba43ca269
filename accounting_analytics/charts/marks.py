"""A chart as marks of figures, before it is drawn.

The figures of marks are exact. Only the size of a mark is a float. Names are as in the books, without escaping.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from accounting_analytics.charts.labels import amount_label, compact_amount
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import days_label, month_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.statements.columns import StatementColumn

ChartKind = Literal["columns", "days", "steps", "rows", "cells"]
"""Kinds of charts: bars and lines by period, step lines by day, a waterfall, bars with names, and a heat map."""


MARK_CALL = "figure.mark({row!r}, {column!r}).entries"
"""Text of the call that returns the entries of a mark."""


class Place(NamedTuple):
    """A place of marks: a period, a day or a row. `name` and `year` are written beside an axis."""

    label: str
    name: str = ""
    year: str = ""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Marks with one name, one mark at each place of a chart.

    Attributes
    ----------
    name : str
        Name of the series.
    keys : sequence of str
        Key of the figure of each mark.
    amounts : sequence of Decimal or None
        Exact amount of each mark; None where it is not known.
    colour : str
        Colour; cells of negative sizes have none.
    is_line : bool
        Whether they are points of a line instead of bars.
    number : int
        Number of the pattern or dash beside the colour.
    is_band : bool
        Whether the area between the line and that of the series before is filled.
    width : float
        Width of a line.
    factor : int
        -1 where payments are drawn without their minus sign.
    suffix : str
        Text after the amounts, such as a percent sign.
    colours : sequence of str
        Colour of each mark, where they are not all of one.
    """

    name: str
    keys: Sequence[str]
    amounts: Sequence[Decimal | None]
    colour: str
    is_line: bool = False
    is_band: bool = False
    number: int = 0
    width: float = 1.5
    factor: int = 1
    suffix: str = ""
    colours: Sequence[str] = ()

    @property
    def bar_colours(self) -> Sequence[str]:
        """Colour of each mark."""
        return self.colours or [self.colour] * len(self.keys)

    @property
    def sizes(self) -> list[float | None]:
        """Sizes of the marks."""
        return [None if amount is None else float(self.factor * amount) for amount in self.amounts]

    @property
    def texts(self) -> list[str]:
        """Amounts with all digits."""
        return ["not known" if amount is None else f"{format_amount(amount)}{self.suffix}" for amount in self.amounts]


@dataclass(frozen=True, kw_only=True)
class ChartMarks:
    """A chart as marks, before it is drawn.

    Attributes
    ----------
    title : str
        What it shows.
    remarks : sequence of str
        Days, zone, and what is left out.
    unit : str
        What its amounts are counted in.
    kind : str
        How it is drawn.
    places : sequence of Place
        The places along its axis, or its rows.
    series : sequence of Series
        Its marks; of cells, one series is a row.
    period : Period or None
        Days of an axis of days.
    message : str
        A sentence in the place of marks.
    full : Decimal
        Amount of the full colour of cells.
    amounts_in : {"k", "M"} or None
        Unit of the amounts that are written at marks.
    find : callable or None
        Finds the figure of a mark by its key.
    table : callable or None
        Makes the table of the marks.
    """

    title: str
    remarks: Sequence[str]
    unit: str
    kind: ChartKind
    places: Sequence[Place]
    series: Sequence[Series]
    period: Period | None = None
    message: str = ""
    full: Decimal = field(default=Decimal(1))
    amounts_in: AmountsIn | None = None
    find: Callable[[str], Figure] | None = None
    table: Callable[[], FigureTable] | None = None

    @property
    def words(self) -> str:
        """Title and remarks as text, for people who use a screen reader."""
        return ", ".join([self.title, *self.remarks])

    def labels(self, series: Series) -> list[str]:
        """Write the texts at the marks of bars, steps and cells."""
        amounts = [None if amount is None else series.factor * amount for amount in series.amounts]
        if self.kind == "cells":
            return ["?" if amount is None else compact_amount(amount) if amount else "" for amount in amounts]
        if series.suffix:
            return series.texts
        between = range(1, len(amounts) - 1) if self.kind == "steps" else ()
        return [
            "not known" if amount is None else amount_label(amount, sign=at in between, amounts_in=self.amounts_in)
            for at, amount in enumerate(amounts)
        ]

    def labelled_days(self) -> list[tuple[int, str, bool]]:
        """List the labelled amounts: place, text, and true for the lowest amount."""
        known = [(at, amount) for at, amount in enumerate(self.series[-1].amounts) if amount is not None]
        if not known:
            return []
        end, at_end = known[-1]
        lowest, least = min(known, key=lambda known_day: known_day[1])
        write = partial(amount_label, amounts_in=self.amounts_in)
        low = [(lowest, f"lowest {write(least)}", True)] if least < at_end else []
        name = "end" if low or len(known) == 1 else "end, lowest"
        return [*low, (end, f"{name} {write(at_end)}", False)]


def by_name(chart: ChartMarks) -> ChartMarks:
    """Turn a chart of one period into bars with names and amounts.

    A chart of one period over time would have single points without amounts.
    """
    first = chart.series[0]
    marks = Series(
        name=chart.places[0].label,
        keys=[series.keys[0] for series in chart.series],
        amounts=[series.amounts[0] for series in chart.series],
        colour=first.colour,
        colours=[series.colour for series in chart.series],
        factor=first.factor,
        suffix=first.suffix,
    )
    return replace(chart, kind="rows", places=[Place(series.name) for series in chart.series], series=[marks])


_QUARTERS = ("Q1", "Q2", "Q3", "Q4")


def period_places(columns: Sequence[StatementColumn]) -> list[Place]:
    """Name the places of periods. The year is separate.

    A first or last quarter that is cut gets the name that follows from the quarter beside it.
    """
    places = [_period_place(column) for column in columns]
    for at, beside, step in ((0, 1, -1), (-1, -2, 1)):
        if len(places) > 1 and places[at].name not in _QUARTERS and places[beside].name in _QUARTERS:
            name = _QUARTERS[(_QUARTERS.index(places[beside].name) + step) % len(_QUARTERS)]
            places[at] = places[at]._replace(name=name)
    return places


def _period_place(column: StatementColumn) -> Place:
    """Name the place of a period, without regard to other periods."""
    ((_, period),) = column.periods
    first, last = period.start_date, period.end_date
    if first == last or (last - first).days < 7:  # noqa: PLR2004 (a week, which may be cut)
        return Place(column.label, f"{first.day} {month_name(first)}", f"{first.year}")
    if (first.year, first.month) == (last.year, last.month):
        return Place(column.label, month_name(first), f"{first.year}")
    before, _, year = column.label.rpartition(" ")
    if before.startswith("Q") and year:
        return Place(column.label, before, year)
    return Place(column.label, month_name(first), f"{first.year}") if before else Place(column.label, column.label)


_PERIODS_BETWEEN = {"Q1": (1, 2, 4, 8, 20, 40), "Jan": (1, 2, 3, 4, 6, 12, 24, 60, 120)}
"""Possible steps from one label to the next, in quarters and months."""


def labelled_places(places: Sequence[Place], most: int) -> list[tuple[int, str]]:
    """Choose at most `most` places that have labels, and write the labels."""
    needed = -(-len(places) // max(most, 1))
    starts = [(at, place.name) for at, place in enumerate(places) if place.name in _PERIODS_BETWEEN]
    steps = _PERIODS_BETWEEN[starts[0][1]] if starts else ()
    every = next((step for step in steps if step >= needed), max(needed, 1))
    first = starts[0][0] % every if starts else 0
    labels, shown_year = [], ""
    for at in range(first, len(places), every):
        place = places[at]
        labels.append((at, place.name if place.year in {"", shown_year} else f"{place.name}\n{place.year}"))
        shown_year = place.year
    return labels


def check_largest(largest: int, most: int | None = None) -> None:
    """Refuse a count that is not a whole number from 1 to `most`."""
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")
    if most is not None and largest > most:
        raise InputError(f"largest must be at most {most}, as many as there are colours, not {largest}")


def no_such_mark(key: str) -> InputError:
    """Make the error for a key that no mark has."""
    return InputError(f"no mark of the chart has the key {quote(key)}")


def find_figure(figures: Iterable[Figure], key: str) -> Figure:
    """Find the figure with a key."""
    found = next((figure for figure in figures if figure.key == key), None)
    if found is None:
        raise no_such_mark(key)
    return found


def day_remarks(period: Period) -> list[str]:
    """Write the days of a chart, and their time zone."""
    return [days_label(period), f"days in {period.time_zone}"]


def unit_text(currency: str | None) -> str:
    """Write the text at an axis: the currency of its amounts."""
    return currency or "amounts in the currency of the books"
