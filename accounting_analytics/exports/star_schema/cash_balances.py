"""Balances of the accounts that report cash flow: of every day, and of every month."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.exports.star_schema.tables import FACT_DAILY_BALANCE, FACT_PERIOD_BALANCE
from accounting_analytics.money import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks
    from accounting_analytics.exports.star_schema.tables import StarTable
    from accounting_analytics.periods import Period


class CashBalances(NamedTuple):
    """``fact_daily_balance`` and ``fact_period_balance``."""

    daily: pa.Table
    monthly: pa.Table

    @classmethod
    def from_books(cls, books: ExportedBooks) -> Self:
        """Add the movements of every day to the starting balances of the report."""
        days, months = [], []
        with localcontext(EXACT):
            for account in _Account.of_books(books):
                balances = list(account.days(books.period))
                days += balances
                months += [_month(balances, month) for month in books.period.months()]
        return cls(_to_table(FACT_DAILY_BALANCE, days, books), _to_table(FACT_PERIOD_BALANCE, months, books))


class _Day(NamedTuple):
    """A row of ``fact_daily_balance``."""

    cash_ledger_id: str
    month: str
    date: dt.date
    opening_balance: Decimal
    movement: Decimal
    closing_balance: Decimal


class _Month(NamedTuple):
    """A row of ``fact_period_balance``."""

    cash_ledger_id: str
    month: str
    start_date: dt.date
    date: dt.date
    starting_balance: Decimal
    movement: Decimal
    ending_balance: Decimal


class _Account(NamedTuple):
    """An account with its starting balance, and its movements by day."""

    ledger_id: str
    starting_balance: Decimal
    movements: dict[dt.date, Decimal]

    @classmethod
    def of_books(cls, books: ExportedBooks) -> Iterator[Self]:
        """All accounts that report cash flow; one that the report does not list starts at zero."""
        listed = books.report.starting_balances
        starting = dict(zip(listed["ledger_id"], listed["cash_balance"], strict=True))
        movements: dict[str, dict[dt.date, Decimal]] = {ledger_id: {} for ledger_id in books.cash_ledger_ids}
        lines = books.lines.select(["ledger_id", "date", "signed_amount"])
        cash = lines.filter(pc.is_in(lines["ledger_id"], value_set=pa.array(list(movements), lines["ledger_id"].type)))
        for row in cash.group_by(["ledger_id", "date"]).aggregate([("signed_amount", "sum")]).to_pylist():
            movements[row["ledger_id"]][row["date"]] = row["signed_amount_sum"]
        zero = Decimal(0).scaleb(-books.scale)
        for ledger_id, by_day in movements.items():
            yield cls(ledger_id, starting.get(ledger_id, zero), by_day)

    def days(self, period: Period) -> Iterator[_Day]:
        """Balances of every day of the period."""
        balance = self.starting_balance
        zero = balance - balance
        for ordinal in range(period.start_date.toordinal(), period.end_date.toordinal() + 1):
            day = dt.date.fromordinal(ordinal)
            movement = self.movements.get(day, zero)
            yield _Day(self.ledger_id, day.isoformat()[:7], day, balance, movement, balance + movement)
            balance += movement


def _month(days: list[_Day], month: Period) -> _Month:
    """Balances at the start and the end of a month, of the days of one account."""
    first = (month.start_date - days[0].date).days
    last = (month.end_date - days[0].date).days
    starting, ending = days[first].opening_balance, days[last].closing_balance
    return _Month(
        days[first].cash_ledger_id, days[first].month, month.start_date, month.end_date, starting, ending - starting,
        ending,
    )  # fmt: skip


def _to_table(table: StarTable, rows: list[_Day] | list[_Month], books: ExportedBooks) -> pa.Table:
    columns = {name: [row[number] for row in rows] for number, name in enumerate(table.columns)}
    return table.from_columns(columns, books.scale)
