"""The file of a bank or card: each booked row is an entry of two lines, of which the second has no category yet.

What a file can mean in two ways is stated by a person: its columns, the decimal mark, which number is the day, which
way money goes, which rows are not booked. A decision that is not stated is refused with what the first rows would be.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.chart_of_accounts import LedgerType, RequiredLedger
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.journals.accounts import REQUIRED_ACCOUNTS, type_of_path
from accounting_analytics.journals.bank_balances import BankRow, StatedBalance, check_balances
from accounting_analytics.journals.entries import NewLine, NewTransaction, to_units
from accounting_analytics.journals.export_cells import (
    DATE_ORDERS,
    DayCells,
    ReadDay,
    StatedForms,
    at_lines,
    check_days,
    read_export,
    read_moment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from accounting_analytics.core.periods import Period
    from accounting_analytics.journals.export_cells import AmountCells, ExportFile, ExportRow
    from accounting_analytics.journals.file_books import FileBooks, FileErrors

    Direction = str | Sequence[str] | Mapping[str, Mapping[str, str]]

DIRECTIONS = ("minus is out", "minus is in", "out", "in")
"""Which way money goes: by the sign of an amount, or all amounts of a column, which have no sign."""

_SHOWN_ROWS = 3
_MAX_TEXTS, _MAX_NAMED = 6, 3
_DAY = dt.timedelta(days=1)
_INFLOW, _OUTFLOW, _OPENING = (
    REQUIRED_ACCOUNTS[role].name
    for role in (
        RequiredLedger.UNCATEGORIZED_INFLOW,
        RequiredLedger.UNCATEGORIZED_OUTFLOW,
        RequiredLedger.OPENING_BALANCE,
    )
)
_NOT_BOOKED = re.compile(
    r"pending|processing|authori[sz](ed|ation)|declined|failed|rejected|void(ed)?|cancel+ed|reversed|refused|scheduled"
    r"|vorgemerkt|ausstehend|pendiente",
    re.IGNORECASE,
)
"""Cells of rows that are often not booked."""
_OF_ONE_CURRENCY = re.compile(r"(currency|ccy|devise|moneda|valuta)\b.*", re.IGNORECASE)
_OF_ONE_ACCOUNT = re.compile(r"(account|iban|card|konto|compte|cuenta)( ?(number|no\.?|name|id|#))?", re.IGNORECASE)
"""Headings of columns that have one text in the file of one account."""
_BALANCE = re.compile(
    r"(opening|closing|starting|ending|beginning|previous|new|final)? ?balance( (brought|carried) (forward|down))?"
    r"|balance as (of|at) .*|(grand )?totals?",
    re.IGNORECASE,
)
_STATED_BALANCE = re.compile(r"(opening|starting|beginning|closing|ending) balance:?", re.IGNORECASE)


class BankFile(NamedTuple):
    """What a person says of a file: None is not stated.

    Attributes
    ----------
    account : str
        Path of the account that it is of.
    date, balance, entry_id : str or None
        Headings of columns.
    text, amount : tuple of str
        Headings of columns; the first text that a row has is the payee.
    date_order, decimal_mark : str or None
        One of DATE_ORDERS and DECIMAL_MARKS.
    direction : str, sequence of str, or mapping
        One of DIRECTIONS, one for each column of amounts, or a column and what each text in it means.
    not_booked : mapping of str to texts, or None
        Columns, and their texts in rows that are not booked.
    only : mapping of str to texts
        Columns, and their texts in the rows that are read.
    opening, closing : Decimal or None
        Balances on the normal side of the account, as a statement prints them.
    period : Period or None
        Days that all rows are within.
    """

    account: str
    currency: str
    date: str | None = None
    text: tuple[str, ...] = ()
    amount: tuple[str, ...] = ()
    date_order: str | None = None
    decimal_mark: str | None = None
    direction: Direction | None = None
    not_booked: Mapping[str, tuple[str, ...]] | None = None
    only: Mapping[str, tuple[str, ...]] = {}
    balance: str | None = None
    entry_id: str | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    period: Period | None = None
    encoding: str = "utf-8"

    def forms(self, scale: int) -> StatedForms:
        """Return how its cells are written."""
        return StatedForms(self.date_order, self.decimal_mark, self.currency, scale)

    def headings(self) -> list[str]:
        """Return the headings of all columns that are named."""
        of_direction = self.direction if isinstance(self.direction, Mapping) else {}
        named = [self.date, *self.text, *self.amount, self.balance, self.entry_id]
        return [one for one in (*named, *of_direction, *(self.not_booked or ()), *self.only) if one]


class BankDays(NamedTuple):
    """Days of a file, and the first day of its books where its opening balance is known."""

    first: dt.date
    last: dt.date
    books_start: dt.date | None


def read_bank_file(given: BankFile, books: FileBooks) -> BankDays:
    """Read the booked rows of a file as entries without a category, and its opening balance as the first entry."""
    errors = books.errors
    file = read_export(books.path, [[one] for one in given.headings()], errors, given.encoding)
    rows = _chosen_rows(file, given, books)
    if missing := list(_missing_decisions(rows, given, books.options.scale)):
        errors.fail("\n- ".join(["decisions are not stated:", *missing]))
    _require_one_of_each(rows, given, errors)
    reader = _BankRowReader(given, books)
    read = [one for row in _booked_rows(rows, given, books) if (one := reader.read(row)) is not None]
    errors.raise_if_any()
    if not any(one.is_entry for one in read):
        errors.fail("it has no booked row")
    check_days([ReadDay(row.place, row.cell, row.day) for row in read], given.date_order or "", given.period, errors)
    stated = [*_given_balances(given, books), *_stated_balances(file, reader.amounts), *reader.balances]
    checked = check_balances(read, stated, normal_side(given.account), errors, books.options.scale)
    books.notes += [*reader.notes(), checked.note]
    days = [one.day for one in checked.rows if one.is_entry]
    first, last = min(days), max(days)
    if given.period is not None:
        first, last = given.period.start_date, given.period.end_date
    _add_entries(checked.rows, checked.opening, first, given, books)
    if checked.opening is None:
        return BankDays(first, last, None)
    return BankDays(first, last, first - _DAY if checked.opening else first)


def _chosen_rows(file: ExportFile, given: BankFile, books: FileBooks) -> list[ExportRow]:
    """Rows that have text, of those that `only` selects; the headings again are those of another table."""
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
        books.notes.append(f"{count_of(others, 'row')} of others were not read, by only=")
    if not chosen:
        books.errors.fail("it has no rows below its headings" + (" that only= selects" if given.only else ""))
    return chosen


def _missing_decisions(rows: Sequence[ExportRow], given: BankFile, scale: int) -> Iterator[str]:
    """Say which decisions are not stated, and what the first rows are by each."""
    first = rows[:_SHOWN_ROWS]
    for name in ("date", "text", "amount"):
        if not getattr(given, name):
            yield f"{name}= names columns, of {', '.join(map(quote, rows[0].cells))}"
    days = [(row.place, row.cells[given.date]) for row in first] if given.date else []
    amounts = [(row.place, cell) for row in first for column in given.amount if (cell := row.cells[column])]
    yield from given.forms(scale).missing(days, amounts)
    if given.amount and given.direction is None:
        yield _direction_readings(given.amount, at_lines(amounts))
    if given.not_booked is None:
        yield _not_booked_readings(rows, given)


def _direction_readings(columns: Sequence[str], shown: str) -> str:
    if len(columns) > 1:
        forms = " or ".join(repr([*pair]) for pair in (("out", "in"), ("in", "out")))
        return f"direction= for {shown}: one for each of {', '.join(columns)}, {forms}"
    return (
        f"direction= for {shown}: 'minus is out' reads a minus as money that left the account, 'minus is in' as money "
        "that came in, and {'D/C': {'D': 'out', 'C': 'in'}} takes it from a column"
    )


def _not_booked_readings(rows: Sequence[ExportRow], given: BankFile) -> str:
    """Name the columns with few different texts, any of which may say that a row is not booked."""
    shown = []
    for column in rows[0].cells.keys() - {given.date, given.balance, given.entry_id, *given.amount, *given.text}:
        counts = Counter(row.cells[column] for row in rows if row.cells[column])
        if 1 < len(counts) <= _MAX_TEXTS:
            shown.append(f"{column} has {', '.join(f'{quote(one)} ({n})' for one, n in sorted(counts.items()))}")
    example = f"; {'; '.join(sorted(shown))}" if shown else ""
    return (
        "not_booked= names the rows that are not booked, such as {'Status': 'Pending'}, and {} says that there are "
        f"none{example}"
    )


def _require_one_of_each(rows: Sequence[ExportRow], given: BankFile, errors: FileErrors) -> None:
    """Refuse rows of several currencies or accounts, and of another currency than the one that is stated."""
    for column in rows[0].cells.keys() - {*given.text, *given.amount}:
        found = {row.cells[column]: row.place for row in reversed(rows) if row.cells[column]}
        is_currency = _OF_ONE_CURRENCY.fullmatch(column) and all(re.fullmatch("[A-Za-z]{3}", one) for one in found)
        if len(found) > 1 and column not in given.only and (is_currency or _OF_ONE_ACCOUNT.fullmatch(column)):
            named = ", ".join(f"{quote(text)} ({place})" for text, place in sorted(found.items())[:_MAX_NAMED])
            errors.fail(
                f"the column {quote(column)} has several texts, {named}, and these books are of one account in one "
                f"currency: only={{{column!r}: {min(found)!r}}} reads the rows of one, a list of texts those of several"
            )
        for code, place in found.items():
            if is_currency and code.upper() != given.currency.upper():
                errors.fail(f"{quote(column)} says {quote(code)}, and currency= {quote(given.currency)}", place)


def _booked_rows(rows: Sequence[ExportRow], given: BankFile, books: FileBooks) -> list[ExportRow]:
    """Rows without those that are not booked; a text that sounds like one of these is refused until it is decided."""
    decided = given.not_booked or {}
    booked, left_out = [], []
    for row in rows:
        if any(row.cells[column] in texts for column, texts in decided.items()):
            left_out.append(row)
            continue
        booked.append(row)
        for column, cell in row.cells.items():
            is_decided = column in decided and not decided[column]
            if _NOT_BOOKED.fullmatch(cell) and not is_decided:
                _refuse_undecided(row, column, cell, f"is it booked? {_ways(column, cell)}", books.errors)
    for column, texts in decided.items():
        counts = Counter(row.cells[column] for row in rows)
        shown = [f"{quote(one)} in {count_of(counts[one], 'row')}" for one in texts]
        kept = [f"{quote(one)} in {counts[one]}" for one in sorted(counts.keys() - {*texts})][:_MAX_NAMED]
        if shown:
            books.notes.append(f"not booked by {column}: {', '.join(shown)}; booked: {', '.join(kept) or 'none'}")
    if left_out:
        more = len(left_out) - _MAX_NAMED
        named = ", ".join(f"{row.place} {row.texts()}" for row in left_out[:_MAX_NAMED])
        books.notes.append(f"rows that are not booked: {named}{f' and {more} more' if more > 0 else ''}")
    return booked


def _refuse_undecided(row: ExportRow, column: str, cell: str, question: str, errors: FileErrors) -> None:
    errors.add(row.place, f"{quote(cell)} in {quote(column)}: {question}")


def _ways(column: str, cell: str) -> str:
    return f"not_booked={{{column!r}: {cell!r}}} leaves such rows out, and not_booked={{{column!r}: []}} books them"


class _BankRowReader:
    """Reads rows: entries, statements of a balance, totals that agree, and texts without an amount."""

    def __init__(self, given: BankFile, books: FileBooks) -> None:
        self._given, self._books = given, books
        self._days = DayCells(given.date_order or "")
        self.amounts = given.forms(books.options.scale).amounts()
        self._sums: Counter[str] = Counter()
        self._texts: list[str] = []
        self._totals: list[str] = []
        self._zeros: list[str] = []
        self._ids: dict[str, str] = {}
        self.balances: list[StatedBalance] = []

    def notes(self) -> list[str]:
        """Say which rows were left out."""
        named = (
            (self._totals, "rows of totals agree with the rows above them"),
            (self._zeros, "rows of 0.00 were left out"),
            (self._texts, "rows without a day and an amount were left out"),
        )
        return [f"{what}: {join_ids(places, limit=_MAX_NAMED)}" for places, what in named if places]

    def read(self, row: ExportRow) -> BankRow | None:
        """Return the entry or balance of a row; None of a row of totals, of text, or that cannot be read."""
        try:
            return self._read(row)
        except (ValueError, AmountError) as error:
            self._books.errors.add(row.place, str(error))
            return None

    def _read(self, row: ExportRow) -> BankRow | None:
        given, date = self._given, row.cells[self._given.date or ""]
        filled = {column: row.cells[column] for column in given.amount if row.cells[column]}
        balance = row.cells[given.balance] if given.balance else ""
        if not re.search(r"\d", date) or not (filled or balance or _is_day(date)):
            self._read_dayless(row, filled, balance)
            return None
        moment = self._days.moment(date)
        text, payee = self._read_texts(row)
        units = self.amounts.units(balance) if balance else None
        instant = self._books.instants.parse(moment)
        day = local_date(instant, zone(self._books.options.time_zone))
        if not filled:
            if units is None:
                raise ValueError(f"it has no amount ({row.texts()})")
            return BankRow(row.place, date, moment, day, text, payee, 0, units, is_entry=False)
        moved = self._moved(row, filled)
        self._refuse_balance_as_payment(row, moved)
        self._refuse_repeated_id(row)
        if not moved:
            self._zeros.append(row.place)
        entry_id = row.cells[given.entry_id] if given.entry_id else ""
        return BankRow(row.place, date, moment, day, text, payee, moved, units, bool(moved), entry_id)

    def _read_texts(self, row: ExportRow) -> tuple[str, str]:
        """Text of a row, and the first of its texts, its payee."""
        texts = [cell for column in self._given.text if (cell := row.cells[column])]
        return ", ".join(texts), texts[0] if texts else ""

    def _moved(self, row: ExportRow, filled: Mapping[str, str]) -> int:
        """Units that came into the account, negative for those that left it."""
        given, units = self._given, {column: self.amounts.units(cell) for column, cell in filled.items()}
        moved = {column: number for column, number in units.items() if number}
        if len(moved) > 1:
            raise ValueError(f"it has amounts in {' and '.join(moved)}, of which one row has one")
        self._sums.update(units)
        words = _words(given, row)
        return sum(_signed(number, words[column], filled[column]) for column, number in moved.items())

    def _refuse_balance_as_payment(self, row: ExportRow, units: int) -> None:
        """Refuse a row whose text is that of a balance or a total, until it is decided what it is."""
        for column in self._given.text:
            cell, decided = row.cells[column], self._given.not_booked or {}
            if units and _BALANCE.fullmatch(cell) and not (column in decided and not decided[column]):
                raise ValueError(
                    f"{quote(cell)} in {quote(column)}: is it a payment or a balance? {_ways(column, cell)}; opening= "
                    "and closing= state balances"
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
        """Take a row without a day as totals that agree, a balance, or text; any other is refused."""
        label = next((cell for cell in row.cells.values() if cell), "")
        if filled:
            for column, cell in filled.items():
                units, total = self.amounts.units(cell), self._sums[column]
                if units != total:
                    above = from_minor_units(total, self._books.options.scale)
                    raise ValueError(
                        f"it has no day ({row.texts()}), and {quote(cell)} is not the total {above:,f} of the rows "
                        f"above: a row without a day is not booked"
                    )
            self._totals.append(row.place)
        elif balance:
            self.balances.append(StatedBalance(row.place, label, self.amounts.units(balance)))
        else:
            self._texts.append(f"{row.place} {row.texts()}")


def _is_day(text: str) -> bool:
    return any(read_moment(text, order) is not None for order in DATE_ORDERS)


def _words(given: BankFile, row: ExportRow) -> dict[str, str]:
    """Direction of each column of amounts in a row."""
    direction = given.direction
    if isinstance(direction, Mapping):
        ((column, meanings),) = direction.items()
        cell = row.cells[column]
        if cell not in meanings:
            raise ValueError(f"{quote(cell)} in {quote(column)} is neither of {', '.join(map(quote, meanings))}")
        return dict.fromkeys(given.amount, meanings[cell])
    words = (direction,) * len(given.amount) if isinstance(direction, str) else tuple(direction or ())
    return dict(zip(given.amount, words, strict=True))


def _signed(units: int, word: str, cell: str) -> int:
    """Units with the sign of money that comes in."""
    if word in {"minus is out", "minus is in"}:
        return units if word == "minus is out" else -units
    if units < 0:
        raise ValueError(
            f"{quote(cell)} has a minus where all amounts are {quote(word)}: money {word}, written with a minus "
            f"(direction 'minus is {word}'), or money back (direction 'minus is {'in' if word == 'out' else 'out'}')"
        )
    return units if word == "in" else -units


def _given_balances(given: BankFile, books: FileBooks) -> Iterator[StatedBalance]:
    """Yield the balances that a person states, which have no place in the file."""
    for label, amount in (("opening", given.opening), ("closing", given.closing)):
        if amount is not None:
            yield StatedBalance("", label, to_units(amount, books.options.scale))


def _stated_balances(file: ExportFile, amounts: AmountCells) -> Iterator[StatedBalance]:
    """Yield the opening and closing balances that lines above the headings state."""
    for line, cells in file.above:
        label = next((one for one in cells if _STATED_BALANCE.fullmatch(one)), None)
        numbers = [one for one in cells if re.search(r"\d", one)]
        if label and len(numbers) == 1 and amounts.reading(numbers[0], amounts.mark):
            yield StatedBalance(f"line {line}", label, amounts.units(numbers[0]))


def _add_entries(
    rows: Sequence[BankRow], opening: int | None, first: dt.date, given: BankFile, books: FileBooks
) -> None:
    """Add the opening balance, on the day before the first, and an entry for each booked row."""
    own = hashlib.sha256(given.account.encode()).hexdigest()[:8]
    if opening:
        day, text = first - _DAY, "Opening balance"
        for account, units in ((given.account, opening), (_OPENING, -opening)):
            books.add(rows[0].place, f"bank-{own}-opening-{day}", day, text, NewLine(account, units, text))
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


def normal_side(account: str) -> int:
    """1 for an account whose balance is a debit, -1 for one whose balance is a credit, such as a card."""
    return 1 if type_of_path(account) == LedgerType.ASSET else -1
