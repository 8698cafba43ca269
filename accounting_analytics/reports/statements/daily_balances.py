"""Balances of the cash ledgers of a statement at the end of each day."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from accounting_analytics.core.column_conversion import exact_amounts, local_midnights
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import DAY
from accounting_analytics.reports.figures.figure import Figure
from accounting_analytics.reports.figures.selections import Selection, Span
from accounting_analytics.reports.statements.statement_figures import add_starting_balance

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.statements.statement_figures import StatementFigures


@dataclass(frozen=True, eq=False)
class DailyBalances:
    """Daily balances of each cash ledger in a period, in units.

    Attributes
    ----------
    figures : StatementFigures
        The statement.
    source : LineSource
        Its lines.
    period : Period
        The days.
    """

    figures: StatementFigures
    source: LineSource
    period: Period

    @cached_property
    def days(self) -> list[dt.date]:
        """The days of the period."""
        return [self.period.start_date + offset * DAY for offset in range(self.period.days)]

    @cached_property
    def units(self) -> dict[str, list[int]]:
        """Balances of each ledger: before the first day, then at the end of each day."""
        lines = self.source.lines(Span(self.figures.rules.opening.since, self.period.end_date))
        lines = lines[lines["ledger_id"].isin(list(self.source.cash))]
        days = local_midnights(lines["datetime"], self.source.time_zone).dt.date
        amounts = exact_amounts(lines["signed_amount"], self.source.scale, lines["id"]).column
        moved: dict[str, dict[dt.date, int]] = defaultdict(lambda: defaultdict(int))
        for ledger_id, day, amount in zip(lines["ledger_id"].astype(object), days, amounts, strict=True):
            moved[ledger_id][day] += to_minor_units(amount, self.source.scale)
        found = {}
        for ledger_id in self.source.cash:
            of_ledger = moved[ledger_id]
            start = self._starting([ledger_id])
            start += sum(units for day, units in of_ledger.items() if day < self.days[0])
            found[ledger_id] = list(itertools.accumulate((of_ledger[day] for day in self.days), initial=start))
        return found

    def total(self, ledger_ids: Iterable[str]) -> list[int]:
        """Sum the units of some ledgers."""
        return [sum(units) for units in zip(*(self.units[ledger_id] for ledger_id in ledger_ids), strict=True)]

    @cached_property
    def first_known(self) -> dt.date:
        """First day whose balances are known."""
        return self.figures.rules.opening.day or self.source.loaded.start_date

    def is_known(self, day: dt.date) -> bool:
        """Test if lines up to the end of a day were loaded."""
        until = self.source.loaded.end_date if self.source.states_days else self.period.end_date
        return self.first_known <= day <= until

    def figure(self, key: str, label: str, ledger_ids: Sequence[str], day: dt.date) -> Figure:
        """Make the balance of ledgers at the end of a day."""
        units = self.total(ledger_ids)[(day - self.days[0]).days + 1] if ledger_ids else 0
        start = self._starting(ledger_ids)
        make = partial(Figure, key, scale=self.source.scale)
        selections = [Selection(1, Span(self.figures.rules.opening.since, day), tuple(ledger_ids))]
        load = partial(self.source.entries, selections, units - start)
        moved = "the sum of line entries up to the day, debits less credits"
        if self.figures.starting is None:
            return make(label, units, moved, selections=selections, _load_entries=load)
        movement = make(label, units - start, moved, _load_entries=load)
        return add_starting_balance(movement, start, self.figures.rules.opening, selections)

    def _starting(self, ledger_ids: Iterable[str]) -> int:
        return sum((self.figures.starting or {}).get(ledger_id, 0) for ledger_id in ledger_ids)
