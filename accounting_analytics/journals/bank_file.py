"""The file of a bank or card: booked rows become entries without a category.

Each entry has two lines, the second on an uncategorized ledger. A person states all that a file can mean in two ways:
columns, decimal mark, order of day and month, direction of money, rows that are not booked. A missing decision is
refused, with the readings of the first rows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.chart_of_accounts import LedgerType, RequiredLedger
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.journals.accounts import REQUIRED_ACCOUNTS, type_of_path
from accounting_analytics.journals.bank_balances import BankRow, StatedBalance, check_balances
from accounting_analytics.journals.bank_further_columns import (
    booked_rows,
    booking_advice,
    check_fees,
    check_sides,
    not_booked_readings,
    notes_of_balances,
    notes_of_sides,
    refuse_doubled,
    refuse_unquoted,
    require_one_account,
    sides_of,
)
from accounting_analytics.journals.csv_cells import at_lines, has_amount, read_export, side_of
from accounting_analytics.journals.csv_days import DATE_ORDERS, DayCells, ReadDay, check_days, read_moment
from accounting_analytics.journals.entries import NewLine, NewTransaction, to_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.journals.bank_further_columns import BankFileChoices
    from accounting_analytics.journals.csv_cells import AmountCells, ExportFile, ExportRow
    from accounting_analytics.journals.file_entries import FileEntries

_SHOWN_ROWS = 3
_MAX_NAMED = 3
_INFLOW, _OUTFLOW, _OPENING = (
    REQUIRED_ACCOUNTS[role].name
    for role in (
        RequiredLedger.UNCATEGORIZED_INFLOW,
        RequiredLedger.UNCATEGORIZED_OUTFLOW,
        RequiredLedger.OPENING_BALANCE,
    )
)
_BALANCE_TEXT = (
    r"((opening|closing|starting|ending|beginning|previous|new|final|current|available|old) )?balance"
    r"( (brought|carried) (forward|down|over))?( (as of|as at|at|on) .*)?|balance forward|(brought|carried) forward"
    r"|saldo( inicial| final| anterior)?|(anfangs|end|schluss)saldo|kontostand( .*)?|solde( .*)?"
)
_BALANCE = re.compile(
    rf"({_BALANCE_TEXT}|(grand |sub ?)?totals?( (debits?|credits?|deposits?|withdrawals?|fees))?|summe|suma|totaal):?",
    re.IGNORECASE,
)
"""Pattern of texts in rows that have a balance or totals."""
_TOTAL = re.compile(r"((grand|sub) ?)?totals?( .*)?:?|summe:?|suma:?|totaal:?", re.IGNORECASE)
_STATED_BALANCE = re.compile(
    r"(opening|starting|beginning|closing|ending) balance( (as of|as at|at|on) .*)?:?|(anfangs|end|schluss)saldo:?",
    re.IGNORECASE,
)
_IN_UTC = re.compile(r"\b(UTC|GMT)\b")


class BankDays(NamedTuple):
    """First and last day of a file, and the first day of its books if the opening balance is known."""

    first: dt.date
    last: dt.date
    books_start: dt.date | None


def read_bank_file(given: BankFileChoices, books: FileEntries) -> BankDays:
    """Read booked rows as entries without category, after the opening balance."""
    errors = books.errors
    file = read_export(books.path, [[heading] for heading in given.headings()], errors, given.encoding)
    rows = _chosen_rows(file, given, books)
    if missing := list(_missing_decisions(rows, given, books.options.scale)):
        errors.fail("\n- ".join(["decisions are not stated:", *missing]))
    require_one_account(rows, given, errors)
    booked, left_out = booked_rows(rows, given, errors)
    errors.raise_if_any()
    if not booked:
        errors.fail("it has no booked row")
    refuse_doubled(booked, given, errors)
    reader = _BankRowReader(given, books)
    pairs = [(row, bank_row) for row in booked if (bank_row := reader.read(row)) is not None]
    errors.raise_if_any()
    read = [bank_row for _, bank_row in pairs]
    if not any(bank_row.is_entry for bank_row in read):
        errors.fail("; ".join(["it has no booked row", *reader.notes()]))
    reader.refuse_second_account(pairs)
    check_sides([(row, bank_row.units) for row, bank_row in pairs], given, errors)
    fees = [*check_fees(booked, given, reader.amounts, errors)]
    read_days = [ReadDay(row.place, row.cell, row.day) for row in read]
    about_days = check_days(read_days, given.date_order or "", given.period, errors)
    stated = [*_given_balances(given, books), *_stated_balances(file, reader.amounts), *reader.balances]
    checked = check_balances(read, stated, normal_side(given.account), errors, books.options.scale)
    books.notes += [*left_out, *reader.notes(), *notes_of_sides(given), *about_days, *fees]
    books.notes += [*notes_of_balances(booked, given), checked.note]
    days = [row.day for row in checked.rows if row.is_entry]
    first, last = min(days), max(days)
    if given.period is not None:
        first, last = given.period.start_date, given.period.end_date
    _add_entries(checked.rows, checked.opening, first, given, books)
    return BankDays(first, last, None if checked.opening is None else first)


def _chosen_rows(file: ExportFile, given: BankFileChoices, books: FileEntries) -> list[ExportRow]:
    """Return selected rows that have text. Refuse repeated headings, below which another table begins."""
    chosen = []
    others = 0
    for row in file.rows:
        if row.is_empty:
            continue
        if given.date and row.cells[given.date] == given.date:
            books.errors.fail(
                "the headings are here again, so the file has several tables: make a file of each", row.place
            )
        if all(row.cells[column] in texts for column, texts in given.only.items()):
            chosen.append(row)
        else:
            others += 1
    if others:
        books.notes.append(f"not read by only=: {count_of(others, 'row')}")
    if not chosen:
        books.errors.fail("it has no rows below its headings" + (" that only= selects" if given.only else ""))
    return chosen


def _missing_decisions(rows: Sequence[ExportRow], given: BankFileChoices, scale: int) -> Iterator[str]:
    """Describe missing decisions, and the first rows by each reading."""
    first = rows[:_SHOWN_ROWS]
    for name in ("date", "text", "amount"):
        if not getattr(given, name):
            yield f"{name}= names columns, of {', '.join(map(quote, rows[0].cells))}"
    days = [(row.place, row.cells[given.date]) for row in first] if given.date else []
    amounts = [(row.place, cell) for row in first for column in given.amount if (cell := row.cells[column])]
    yield from given.forms(scale).missing(days, amounts)
    if given.amount and given.direction is None:
        yield _direction_readings(given.amount, at_lines(amounts), dict(sides_of(rows, given.others(rows[0]))))
    if given.not_booked is None:
        yield not_booked_readings(rows, given)


def _direction_readings(columns: Sequence[str], shown: str, sides: Mapping[str, Mapping[str, str]]) -> str:
    if len(columns) > 1:
        forms = " or ".join(repr([*pair]) for pair in (("out", "in"), ("in", "out")))
        return f"direction= for {shown}: one for each of {', '.join(columns)}, {forms}"
    return (
        f"direction= for {shown}: 'minus is out' reads a minus as money that left the account, 'minus is in' as money "
        f"that came in, and {sides or {'D/C': {'D': 'out', 'C': 'in'}}} takes it from a column"
    )


class _BankRowReader:
    """Reader of rows: entries, balances, totals, or texts without an amount.

    Totals must agree with the rows above.
    """

    def __init__(self, given: BankFileChoices, books: FileEntries) -> None:
        self._given, self._books = given, books
        self._days, self._is_utc = DayCells(given.date_order or ""), bool(_IN_UTC.search(given.date or ""))
        self.amounts = given.forms(books.options.scale).amounts()
        self._sums: Counter[str] = Counter()
        self._texts: dict[int, str] = {}
        self._totals: list[str] = []
        self._zeros: list[str] = []
        self._ids: dict[str, str] = {}
        self._marked: dict[str, str] = {}
        self.balances: list[StatedBalance] = []

    def notes(self) -> list[str]:
        """Write notes on rows that were left out."""
        named = (
            (self._totals, "rows of totals agree with the rows above them"),
            (self._zeros, "rows of 0.00 were left out"),
            ([*self._texts.values()], "rows without a day and an amount were left out"),
        )
        return [f"{what}: {_first_few(places)}" for places, what in named if places]

    def refuse_second_account(self, rows: Sequence[tuple[ExportRow, BankRow]]) -> None:
        """Refuse rows whose days begin again below a text, because they are of another account."""
        direction = 0
        for (row, above), (next_row, below) in pairwise(rows):
            step = (below.day > above.day) - (below.day < above.day)
            direction = direction or step
            if step == -direction and step:
                titles = [text for line, text in self._texts.items() if row.line < line < next_row.line]
                if titles:
                    self._books.errors.fail(
                        f"its day is before or after the order of the rows above, and {titles[0]} is between: rows of "
                        "another account need a file of their own; of the same one, remove that line",
                        next_row.place,
                    )

    def read(self, row: ExportRow) -> BankRow | None:
        """Return the entry or balance of a row, or None for other rows."""
        try:
            return self._read(row)
        except (ValueError, AmountError) as error:
            self._books.errors.add(row.place, str(error))
            return None

    def _read(self, row: ExportRow) -> BankRow | None:
        given, date = self._given, row.cells[self._given.date or ""]
        filled = {column: row.cells[column] for column in given.amount if has_amount(row.cells[column])}
        balance = row.cells[given.balance] if given.balance and has_amount(row.cells[given.balance]) else ""
        if not re.search(r"\d", date) or not (filled or balance or _is_day(date)):
            self._read_dayless(row, filled, balance)
            return None
        moment = self._moment(date)
        text, payee = self._read_texts(row)
        units = self.amounts.units(balance) if balance else None
        instant = self._books.instants.parse(moment)
        day = local_date(instant, zone(self._books.options.time_zone))
        if not filled:
            if units is None:
                self._read_without_amount(row)
                return None
            return BankRow(row.place, date, moment, day, text, payee, 0, units, is_entry=False)
        refuse_unquoted(row, given)
        moved = self._moved(row, filled, is_compared=units is not None)
        self._refuse_balance_as_payment(row, moved)
        self._refuse_repeated_id(row)
        if not moved:
            self._zeros.append(row.place)
        entry_id = row.cells[given.entry_id] if given.entry_id else ""
        is_sum = len(filled) > 1 and sum(bool(self.amounts.units(cell)) for cell in filled.values()) > 1
        return BankRow(row.place, date, moment, day, text, payee, moved, units, bool(moved), entry_id, is_sum)

    def _moment(self, date: str) -> dt.date | dt.datetime:
        """Read the day or moment of a cell.

        The heading may say that moments are in UTC.
        """
        moment = self._days.moment(date)
        if self._is_utc and isinstance(moment, dt.datetime) and moment.tzinfo is None:
            return moment.replace(tzinfo=dt.UTC)
        return moment

    def _read_without_amount(self, row: ExportRow) -> None:
        """Leave out a row that names a balance. Refuse any other row without an amount."""
        for column in self._given.text:
            if _BALANCE.fullmatch(row.cells[column]):
                self._texts[row.line] = f"{row.place} {row.texts()}"
                return
        column = self._given.text[0]
        out = booking_advice(column, row.cells[column], self._given.not_booked or {}, may_book=False)
        raise ValueError(f"it has no amount ({row.texts()}): {out}")

    def _read_texts(self, row: ExportRow) -> tuple[str, str]:
        """Return all texts of a row, and its first text.

        The first text is the payee.
        """
        texts = [cell for column in self._given.text if (cell := row.cells[column])]
        return ", ".join(texts), texts[0] if texts else ""

    def _moved(self, row: ExportRow, filled: Mapping[str, str], *, is_compared: bool) -> int:
        """Return the units that came into the account, negative for outflows.

        Several amounts, such as a price and its fee, are summed only if the row has a balance that proves the sum.
        """
        given, units = self._given, {column: self.amounts.units(cell) for column, cell in filled.items()}
        moved = {column: number for column, number in units.items() if number}
        if len(moved) > 1 and not is_compared:
            raise ValueError(
                f"it has amounts in {' and '.join(moved)}, of which one row has one: their sum is read only where "
                "balance= is compared with it"
            )
        self._sums.update(units)
        directions = _directions(given, row)
        for column in moved:
            self._refuse_marks(filled[column], directions[column], row.place)
        return sum(_signed(number, directions[column], filled[column]) for column, number in moved.items())

    def _refuse_marks(self, cell: str, word: str, place: str) -> None:
        """Refuse a mark that would mean the same as no mark.

        A mark is CR or DR.
        """
        side = side_of(cell)
        if side not in self._marked:
            self._marked[side] = f"{quote(cell)} ({place})"
        alike = {"minus is out": "CR", "minus is in": "DR"}.get(word, "")
        if {"", alike} == {*self._marked} and alike:
            raise ValueError(
                f"{self._marked['']} and {self._marked[alike]} would go the same way by direction {quote(word)}: an "
                f"amount without {alike} goes the other way"
            )

    def _refuse_balance_as_payment(self, row: ExportRow, units: int) -> None:
        """Refuse a row whose text names a balance.

        A person may decide that the row is a payment.
        """
        for column in self._given.text:
            cell, decided = row.cells[column], self._given.not_booked or {}
            if units and _BALANCE.fullmatch(cell) and not (column in decided and not decided[column]):
                raise ValueError(
                    f"{quote(cell)} in {quote(column)}: is it a payment or a balance? "
                    f"{booking_advice(column, cell, decided)}; opening= and closing= state balances"
                )

    def _refuse_repeated_id(self, row: ExportRow) -> None:
        if not self._given.entry_id:
            return
        identifier = row.cells[self._given.entry_id]
        first = self._ids.setdefault(identifier, row.place)
        if not identifier or first != row.place:
            why = f"is that of {first} too" if identifier else "is empty"
            raise ValueError(f"{self._given.entry_id} {quote(identifier)} {why}: each row has its own")

    def _read_dayless(self, row: ExportRow, filled: Mapping[str, str], balance: str) -> None:
        """Read a row without a day: totals, a balance or text."""
        label = next((cell for cell in row.cells.values() if cell), "")
        if filled:
            self._check_totals(row, filled)
            label = "closing balance"
        stated = StatedBalance(row.place, label, self.amounts.units(balance)) if balance else None
        if stated is not None and (stated.is_opening or stated.is_closing):
            self.balances.append(stated)
        elif not filled:
            self._texts[row.line] = f"{row.place} {row.texts()}"

    def _check_totals(self, row: ExportRow, filled: Mapping[str, str]) -> None:
        """Refuse amounts without a day unless they sum the rows above."""
        texts = [row.cells[column] for column in self._given.text if row.cells[column]]
        decided = self._given.not_booked or {}
        date = self._given.date or ""
        out = booking_advice(date, row.cells[date], decided, may_book=False)
        if texts and not _TOTAL.fullmatch(texts[0]):
            raise ValueError(
                f"it has an amount and no day ({row.texts()}): a row without a day is not booked; fill in its day, or "
                f"{out}"
            )
        for column, cell in filled.items():
            if self.amounts.units(cell) != self._sums[column]:
                above = format_amount(from_minor_units(self._sums[column], self._books.options.scale))
                raise ValueError(
                    f"it has no day ({row.texts()}), and {quote(cell)} is not the total {above} of the rows above: a "
                    f"row without a day is not booked; {out}"
                )
        self._totals.append(row.place)


def _first_few(places: Sequence[str]) -> str:
    """List the first few places, and count the others."""
    more = len(places) - _MAX_NAMED
    return ", ".join(places[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_day(text: str) -> bool:
    return any(read_moment(text, order) is not None for order in DATE_ORDERS)


def _directions(given: BankFileChoices, row: ExportRow) -> dict[str, str]:
    """Return the direction of each amount column in a row."""
    direction = given.direction
    if isinstance(direction, Mapping):
        ((column, meanings),) = direction.items()
        cell = row.cells[column]
        if cell not in meanings:
            raise ValueError(f"{quote(cell)} in {quote(column)} is neither of {', '.join(map(quote, meanings))}")
        return dict.fromkeys(given.amount, meanings[cell])
    return dict(zip(given.amount, direction or (), strict=True))


def _signed(units: int, word: str, cell: str) -> int:
    """Give units their sign: money that comes in is positive."""
    side = side_of(cell)
    if word in {"minus is out", "minus is in"}:
        return units if side or word == "minus is out" else -units
    if side:
        if (side == "CR") != (word == "in"):
            raise ValueError(f"{quote(cell)} says {side}, and all amounts of its column are {quote(word)}")
        return units
    if units < 0:
        raise ValueError(
            f"{quote(cell)} has a minus where all amounts are {quote(word)}: money {word}, written with a minus "
            f"(direction 'minus is {word}'), or money back (direction 'minus is {'in' if word == 'out' else 'out'}')"
        )
    return units if word == "in" else -units


def _given_balances(given: BankFileChoices, books: FileEntries) -> Iterator[StatedBalance]:
    """Yield the balances that a person states, without a place."""
    for label, amount in (("opening", given.opening), ("closing", given.closing)):
        if amount is not None:
            yield StatedBalance("", label, to_units(amount, books.options.scale))


def _stated_balances(file: ExportFile, amounts: AmountCells) -> Iterator[StatedBalance]:
    """Yield opening and closing balances from the lines above the headings."""
    for line, cells in file.above:
        label = next((cell for cell in cells if _STATED_BALANCE.fullmatch(cell)), None)
        numbers = [cell for cell in cells if cell != label and re.search(r"\d", cell)]
        if label and len(numbers) == 1 and amounts.reading(numbers[0], amounts.mark):
            yield StatedBalance(f"line {line}", label, amounts.units(numbers[0]))


def _add_entries(
    rows: Sequence[BankRow], opening: int | None, first: dt.date, given: BankFileChoices, books: FileEntries
) -> None:
    """Add the opening balance, and an entry for each booked row."""
    own = hashlib.sha256(given.account.encode()).hexdigest()[:8]
    if opening:
        moment, text = _start_of(first, books), "Opening balance"
        for account, units in ((given.account, opening), (_OPENING, -opening)):
            books.add(rows[0].place, f"bank-{own}-opening-{first}", moment, text, NewLine(account, units, text))
    counts: Counter[str] = Counter()
    for row in rows:
        if not row.is_entry:
            continue
        content = "\n".join([given.account, row.text, str(row.units)])
        identifier = f"bank-{row.day}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
        counts[identifier] += 1
        entry_id = f"bank-{own}-{row.entry_id}" if row.entry_id else f"{identifier}-{counts[identifier]}"
        other = _INFLOW if row.units > 0 else _OUTFLOW
        transaction = NewTransaction(row.payee or row.text)
        books.add(row.place, entry_id, row.moment, row.text, NewLine(given.account, row.units, row.text, transaction))
        books.add(row.place, entry_id, row.moment, row.text, NewLine(other, -row.units, row.text))


def _start_of(day: dt.date, books: FileEntries) -> dt.date:
    """Return the midnight of a day.

    If clocks skip midnight, return the day, which means noon.
    """
    midnight = dt.datetime.combine(day, dt.time())
    try:
        books.instants.parse(midnight)
    except ValueError:
        return day
    return midnight


def normal_side(account: str) -> int:
    """Return 1 for an account with a normal debit balance, -1 for a normal credit balance."""
    return 1 if type_of_path(account) == LedgerType.ASSET else -1
