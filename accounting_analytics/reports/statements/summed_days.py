"""The days that each measure of a statement sums."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.periods import day_before, day_label
from accounting_analytics.reports.figures.selections import Span

if TYPE_CHECKING:
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.books.opening import Opening
    from accounting_analytics.reports.statements.rows import Measure

FLOWS = ("flow", "opened")
"""Measures of entries that touch cash."""


class SpanRules(NamedTuple):
    """Rules for the days that the measures of a statement sum.

    Attributes
    ----------
    opening : Opening
        Day from which balances are known; nothing is known of days before the first entry.
    fiscal_year_start_month : int
        Month that a fiscal year starts in.
    of_balances : bool
        Whether the statement shows sums up to the end of each column.
    loaded_from : date
        First day of the lines.
    """

    opening: Opening
    fiscal_year_start_month: int
    of_balances: bool
    loaded_from: dt.date

    def span(self, measure: Measure, period: Period) -> Span:
        """Return the days that a measure sums in a column's period.

        No span begins before the books. A period before the books has a span without lines.
        """
        start, end, since = period.start_date, period.end_date, self.opening.since
        if first_entry := self.opening.first_entry:
            if end < first_entry:
                return Span(None, dt.date.min, measure in FLOWS, is_opening=measure == "opened")
            start = max(start, first_entry)
        match measure:
            case "flow" | "opened" | "movement":
                return Span(start, end, measure in FLOWS, is_opening=measure == "opened")
            case "balance":
                is_before = self.opening.is_movement and since is not None and end < since
                return Span(since, dt.date.min if is_before else end)
            case "opening":
                return Span(since, day_before(start))
        first = self._year_start(end)
        first = max(first, self.loaded_from) if self.loaded_from <= end else first  # books may begin within a year
        return Span(first, end) if measure == "this_year" else Span(since, min(day_before(first), end))

    def why_unknown(self, span: Span) -> str:
        """Return why a span cannot be known from any load, else ""."""
        is_before = span.first is None and span.last == dt.date.min
        first = self.opening.first_entry
        return f"the books begin on {day_label(first)}" if first and is_before else ""

    def is_within_year(self, period: Period) -> bool:
        """Test if sums begin within the fiscal year of a column.

        If so, balances that are added to the sums may include earnings of that year.
        """
        since = self.opening.since
        return since is not None and self._year_start(period.end_date) < since <= period.end_date

    def _year_start(self, day: dt.date) -> dt.date:
        """Return the first day of a fiscal year."""
        year = day.year if day.month >= self.fiscal_year_start_month else day.year - 1
        return dt.date(max(year, 1), self.fiscal_year_start_month, 1)
