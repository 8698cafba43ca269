"""A chart as marks of figures: what the functions of ``charts`` make, and what is drawn in notebooks and as pictures.

The figures of marks are exact; only the size of a mark is a float. Names are those of the books, without any escaping.
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
"""Bars and lines by period, step lines by day, a waterfall, bars from zero with names, and cells of a heat map."""


MARK_CALL = "figure.mark({row!r}, {column!r}).entries"
"""Call that gives the entries of a mark."""


class Place(NamedTuple):
    """Where marks are: a period, day or row; beside an axis its name without its year, and the year."""

    label: str
    name: str = ""
    year: str = ""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Marks of one name, one at each place of a chart.

    Attributes
    ----------
    name : str
        What they are of.
    keys : sequence of str
        Key of the figure of each.
    amounts : sequence of Decimal or None
        Exact amount of each; None where it is not known.
    colour : str
        Colour; cells of negative sizes have none.
    is_line : bool
        Whether they are points of a line instead of bars.
    number : int
        Which pattern or dash they have beside their colour.
    is_band : bool
        Whether the area between the line and that of the series before is filled.
    width : float
        Of a line.
    factor : int
        -1 where payments are drawn without their minus sign.
    suffix : str
        After the amounts, such as a percent sign.
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
        return [None if one is None else float(self.factor * one) for one in self.amounts]

    @property
    def texts(self) -> list[str]:
        """Amounts with all digits."""
        return ["not known" if one is None else f"{format_amount(one)}{self.suffix}" for one in self.amounts]


@dataclass(frozen=True, kw_only=True)
class ChartMarks:
    """A chart.

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
        """Title and remarks, for people who hear a page."""
        return ", ".join([self.title, *self.remarks])

    def labels(self, series: Series) -> list[str]:
        """Texts that are written at the marks of bars, steps and cells."""
        amounts = [None if one is None else series.factor * one for one in series.amounts]
        if self.kind == "cells":
            return ["?" if one is None else compact_amount(one) if one else "" for one in amounts]
        if series.suffix:
            return series.texts
        between = range(1, len(amounts) - 1) if self.kind == "steps" else ()
        return [
            "not known" if one is None else amount_label(one, sign=at in between, amounts_in=self.amounts_in)
            for at, one in enumerate(amounts)
        ]

    def labelled_days(self) -> list[tuple[int, str, bool]]:
        """Places and texts of the lowest and the last known amount of the last line, and whether it is the lowest."""
        known = [(at, amount) for at, amount in enumerate(self.series[-1].amounts) if amount is not None]
        if not known:
            return []
        end, at_end = known[-1]
        lowest, least = min(known, key=lambda one: one[1])
        write = partial(amount_label, amounts_in=self.amounts_in)
        low = [(lowest, f"lowest {write(least)}", True)] if least < at_end else []
        name = "end" if low or len(known) == 1 else "end, lowest"
        return [*low, (end, f"{name} {write(at_end)}", False)]


def by_name(chart: ChartMarks) -> ChartMarks:
    """Chart of one period as bars with their names and amounts: points above one label would have no numbers."""
    series = chart.series
    marks = Series(
        name=chart.places[0].label,
        keys=[one.keys[0] for one in series],
        amounts=[one.amounts[0] for one in series],
        colour=series[0].colour,
        colours=[one.colour for one in series],
        factor=series[0].factor,
        suffix=series[0].suffix,
    )
    return replace(chart, kind="rows", places=[Place(one.name) for one in series], series=[marks])


_QUARTERS = ("Q1", "Q2", "Q3", "Q4")


def period_places(columns: Sequence[StatementColumn]) -> list[Place]:
    """Places of periods: month, quarter or first day without the year, and the year.

    The first and the last quarter may be cut, and are named after those beside them.
    """
    places = [_period_place(column) for column in columns]
    for at, beside, step in ((0, 1, -1), (-1, -2, 1)):
        if len(places) > 1 and places[at].name not in _QUARTERS and places[beside].name in _QUARTERS:
            name = _QUARTERS[(_QUARTERS.index(places[beside].name) + step) % len(_QUARTERS)]
            places[at] = places[at]._replace(name=name)
    return places


def _period_place(column: StatementColumn) -> Place:
    """Place of a period by itself."""
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
"""Quarters and months from one label to the next."""


def labelled_places(places: Sequence[Place], most: int) -> list[tuple[int, str]]:
    """Places that are labelled, at most so many, and their texts: the year is on a second line, where it changes."""
    needed = -(-len(places) // max(most, 1))
    starts = [(at, place.name) for at, place in enumerate(places) if place.name in _PERIODS_BETWEEN]
    steps = _PERIODS_BETWEEN[starts[0][1]] if starts else ()
    every = next((one for one in steps if one >= needed), max(needed, 1))
    first = starts[0][0] % every if starts else 0
    labels, shown_year = [], ""
    for at in range(first, len(places), every):
        place = places[at]
        labels.append((at, place.name if place.year in {"", shown_year} else f"{place.name}\n{place.year}"))
        shown_year = place.year
    return labels


def check_largest(largest: int, most: int | None = None) -> None:
    """Refuse a count that is not a positive whole number, or more than there are colours."""
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")
    if most is not None and largest > most:
        raise InputError(f"largest must be at most {most}, as many as there are colours, not {largest}")


def no_such_mark(key: str) -> InputError:
    """Error for a key that no mark has."""
    return InputError(f"no mark of the chart has the key {quote(key)}")


def find_figure(figures: Iterable[Figure], key: str) -> Figure:
    """Figure of a key."""
    found = next((one for one in figures if one.key == key), None)
    if found is None:
        raise no_such_mark(key)
    return found


def day_remarks(period: Period) -> list[str]:
    """Days of a chart, and their zone."""
    return [days_label(period), f"days in {period.time_zone}"]


def unit_text(currency: str | None) -> str:
    """Text of an axis: the currency of its amounts."""
    return currency or "amounts in the currency of the books"
