"""The journal report of QuickBooks or Xero as CSV, compared with its totals."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.ledger_names import PATH_SEPARATOR
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.journals.csv_cells import StatedForms, has_amount, read_export, side_of
from accounting_analytics.journals.csv_days import DayCells, ReadDay, check_days
from accounting_analytics.journals.entries import NewLine, NewTransaction

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.core.periods import Period
    from accounting_analytics.journals.csv_cells import ExportRow
    from accounting_analytics.journals.file_entries import FileEntries

HEADINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "quickbooks": {
        "date": ("Date", "Transaction date", "Transaction Date"),
        "account": ("Account full name", "Distribution account", "Account", "Account name", "Full name"),
        "debit": ("Debit",),
        "credit": ("Credit",),
        "type": ("Transaction Type", "Transaction type", "Type"),
        "number": ("Num", "No."),
        "name": ("Name",),
        "memo": ("Memo/Description", "Memo", "Line description", "Description"),
        "entry": ("Trans #", "Trans #."),
    },
    "xero": {
        "date": ("Date",),
        "account": ("Account", "Account Name", "Account Code"),
        "debit": ("Debit",),
        "credit": ("Credit",),
        "name": ("Contact", "Name"),
        "memo": ("Description", "Reference"),
        "entry": ("Journal #", "Journal Number", "Journal No.", "Journal ID"),
    },
}
"""Headings of each column by kind of file, in all forms that the program writes. The first that a file has is used."""
_REQUIRED = ("date", "account", "debit", "credit")
_NUMBER = re.compile(r"(?:ID|Journal)(?: (?:ID|No\.?|Number))?[ :#]*(\d+)\b[ ,|:-]*(.*)")
"""Pattern of the row above the lines of an entry in Xero, which has the number of the entry."""
_CURRENCY = ("currency", "currency code", "transaction currency")
_SHOWN_ROWS, _MAX_NAMED = 3, 3


class AccountingExportChoices(NamedTuple):
    """Decisions of a person about a file. None means not stated."""

    kind: str
    accounts: Mapping[str, str] | None
    currency: str
    date_order: str | None = None
    decimal_mark: str | None = None
    period: Period | None = None
    encoding: str = "utf-8"


class _Entry:
    """The lines of an entry, up to its row of totals."""

    def __init__(self, number: str = "", text: str = "") -> None:
        self.number, self.text = number, text
        self.lines: list[_ExportLine] = []
        self.totals: ExportRow | None = None

    @property
    def place(self) -> str:
        """Place of the first line."""
        return self.lines[0].row.place

    def sums(self) -> tuple[int, int]:
        """Sum the debits and the credits of the entry."""
        return _sums(self.lines)


class _ExportLine(NamedTuple):
    """A line of an entry: row, cells by kind, and amounts."""

    row: ExportRow
    cells: Mapping[str, str]
    debit: int
    credit: int


def _sums(lines: Sequence[_ExportLine]) -> tuple[int, int]:
    return sum(line.debit for line in lines), sum(line.credit for line in lines)


def read_accounting_export(given: AccountingExportChoices, books: FileEntries) -> tuple[dt.date, dt.date]:
    """Read the entries of a journal report, and return its first and last day.

    The lines of each entry must sum to the totals of the entry, and all lines to the last totals.
    """
    forms = HEADINGS[given.kind]
    file = read_export(books.path, [forms[name] for name in _REQUIRED], books.errors, given.encoding)
    columns = {
        name: next((heading for heading in known if heading in file.headings), "") for name, known in forms.items()
    }
    rows = [row for row in file.rows if row.cells[columns["account"]]]
    if not rows:
        books.errors.fail("it has no line with an account")
    kept = [row for row in file.rows if not _is_heading(row, columns)]
    if len(kept) < len(file.rows) and given.kind == "quickbooks":
        again = next(row for row in file.rows if _is_heading(row, columns))
        books.errors.fail(
            "the headings are here again, so the file has several reports: make a file of each", again.place
        )
    rows = [row for row in kept if row.cells[columns["account"]]]
    _require_decisions(rows, columns, given, books)
    _check_currency(rows, given, books)
    reader = _EntryReader(given, columns, books)
    for row in kept:
        reader.read(row)
    books.errors.raise_if_any()
    entries = [entry for entry in reader.entries if entry.lines]
    reader.check_totals(entries)
    days = _add_entries(entries, given, books)
    books.notes += check_days(days, given.date_order or "", given.period, books.errors)
    books.errors.raise_if_any()
    first, last = min(read_day.day for read_day in days), max(read_day.day for read_day in days)
    return (given.period.start_date, given.period.end_date) if given.period else (first, last)


def _is_heading(row: ExportRow, columns: Mapping[str, str]) -> bool:
    """Return whether a row repeats the headings.

    A file may repeat the headings above each journal.
    """
    return all(row.cells[columns[name]] == columns[name] for name in _REQUIRED)


def _check_currency(rows: Sequence[ExportRow], given: AccountingExportChoices, books: FileEntries) -> None:
    """Refuse a file in another currency.

    Write a note if the file has several currencies.
    """
    column = next((heading for heading in rows[0].cells if heading.casefold() in _CURRENCY), None)
    found = dict.fromkeys(row.cells[column].upper() for row in rows if row.cells[column]) if column else {}
    others = [code for code in found if code != given.currency.upper()]
    if others and len(found) == 1:
        books.errors.fail(f"{quote(column)} says {quote(others[0])}, and currency= {quote(given.currency)}")
    if others:
        books.notes.append(
            f"{quote(column)} has {join_ids(found)}: debits and credits were read as {given.currency}, the currency of "
            "the books"
        )


def _require_decisions(
    rows: Sequence[ExportRow], columns: Mapping[str, str], given: AccountingExportChoices, books: FileEntries
) -> None:
    """Refuse missing decisions, with the possible readings of lines, and unknown accounts."""
    days = [(row.place, cell) for row in rows if (cell := row.cells[columns["date"]])]
    amounts = [
        (row.place, cell) for row in rows if (cell := row.cells[columns["debit"]] or row.cells[columns["credit"]])
    ]
    forms = StatedForms(given.date_order, given.decimal_mark, given.currency, books.options.scale)
    missing = list(forms.missing(days[:_SHOWN_ROWS], amounts[:_SHOWN_ROWS]))
    names = dict.fromkeys(row.cells[columns["account"]] for row in rows)
    if given.accounts is None:
        empty = ", ".join(f"{name!r}: ''" for name in names)
        missing.append(
            "accounts= gives each account its path, whose first part is its type (assets, liabilities, equity, income, "
            f"expenses): {{{empty}}}"
        )
    if missing:
        books.errors.fail("\n- ".join(["decisions are not stated:", *missing]))
    for name in names:
        if path_of(name, given.accounts or {}) is None:
            row = next(row for row in rows if row.cells[columns["account"]] == name)
            parent = name.partition(PATH_SEPARATOR)[0]
            or_parent = f" or {quote(parent)}, which it is below," if parent != name else ""
            books.errors.add(row.place, f"account {quote(name)} has no path: add it{or_parent} to accounts=")
    books.errors.raise_if_any()


def path_of(name: str, accounts: Mapping[str, str]) -> str | None:
    """Return the path of an account, which is stated for it or follows from its parent's path."""
    if name in accounts:
        return accounts[name]
    parent, separator, last = name.rpartition(PATH_SEPARATOR)
    above = path_of(parent, accounts) if separator else None
    return above and f"{above}{PATH_SEPARATOR}{last.strip()}"


class _EntryReader:
    """Reader of rows: lines, totals, entry numbers, or ends of entries."""

    def __init__(self, given: AccountingExportChoices, columns: Mapping[str, str], books: FileEntries) -> None:
        self._given, self._columns, self._books = given, columns, books
        forms = StatedForms(given.date_order, given.decimal_mark, given.currency, books.options.scale)
        self._amounts = forms.amounts()
        self.entries: list[_Entry] = []
        self._totals: list[ExportRow] = []
        self._current: _Entry | None = None

    def read(self, row: ExportRow) -> None:
        """Read the next row."""
        cells = {name: row.cells[column] if column else "" for name, column in self._columns.items()}
        try:
            if cells["account"]:
                self._add_line(row, cells)
            elif cells["debit"] or cells["credit"]:
                self._add_totals(row, cells)
            elif row.is_empty:
                self._current = None if self._current is None or self._current.lines else self._current
            elif match := _NUMBER.fullmatch(next(filter(None, row.cells.values()))):
                self._begin(_Entry(match[1], match[2]))
        except (ValueError, AmountError) as error:
            self._books.errors.add(row.place, str(error))

    def _begin(self, entry: _Entry) -> _Entry:
        self.entries.append(entry)
        self._current = entry
        return entry

    def _add_line(self, row: ExportRow, cells: Mapping[str, str]) -> None:
        entry = self._current
        if entry is None or entry.totals is not None or self._is_other(entry, cells):
            if self._given.kind == "xero" and not cells.get("entry"):
                raise ValueError("no row with the number of its entry, such as 'ID 2041', is above this line")
            entry = self._begin(_Entry(cells.get("entry", "")))
        debit, credit = (self._units(cells[name]) for name in ("debit", "credit"))
        if debit and credit:
            raise ValueError(f"it has a debit and a credit ({row.texts()})")
        line = _ExportLine(row, cells, debit, credit)
        first = entry.lines[0] if entry.lines else line
        for name in ("date", "type", "number"):
            if cells.get(name) and cells[name] != first.cells[name]:
                raise ValueError(
                    f"{quote(cells[name])} differs from {quote(first.cells[name])} of {first.row.place}: nothing says "
                    "whether it is the same entry (a row of totals or an empty row ends one)"
                )
        entry.lines.append(line)

    @staticmethod
    def _is_other(entry: _Entry, cells: Mapping[str, str]) -> bool:
        """Return whether a line's number, day or type begins another entry."""
        if cells.get("entry") and entry.number:
            return entry.number != cells["entry"]
        debit, credit = entry.sums()
        differs = any(
            cells.get(name) and cells[name] != entry.lines[0].cells[name]
            for name in ("date", "type", "number")
            if entry.lines
        )
        return differs and debit == credit

    def _units(self, cell: str) -> int:
        if side_of(cell):
            raise ValueError(f"{quote(cell)} says {side_of(cell)} in a column of one side")
        return self._amounts.units(cell) if has_amount(cell) else 0

    def _add_totals(self, row: ExportRow, cells: Mapping[str, str]) -> None:
        """Add a row as totals of an entry or the file."""
        amounts = {self._columns["debit"], self._columns["credit"]}
        labels = [cell for column, cell in row.cells.items() if cell and column not in amounts]
        if labels and not any(label.casefold().startswith("total") for label in labels):
            raise ValueError(f"it has an amount and no account ({row.texts()})")
        entry, stated = self._current, (self._units(cells["debit"]), self._units(cells["credit"]))
        if entry is None or not entry.lines or entry.totals is not None or self._are_of_all(stated, entry):
            self._totals.append(row)
        else:
            entry.totals = row

    def _are_of_all(self, stated: tuple[int, int], entry: _Entry) -> bool:
        """Return whether totals are of all lines, not of the entry."""
        return stated != entry.sums() and stated == _sums([line for other in self.entries for line in other.lines])

    def check_totals(self, entries: Sequence[_Entry]) -> None:
        """Compare the totals of entries and of the file, and write a note on the result."""
        with_totals = [entry for entry in entries if entry.totals is not None]
        for entry in entries:
            if entry.totals is not None:
                self._compare(entry.lines, entry.totals)
            elif with_totals:
                self._books.errors.add(entry.place, "this entry has no row of totals, as others have")
        for row in self._totals:
            self._compare([line for entry in entries for line in entry.lines], row)
        self._books.errors.raise_if_any()
        compared = [f"the totals of {count_of(len(with_totals), 'entry', 'entries')}"] if with_totals else []
        compared += ["the totals of all lines"] if self._totals else []
        self._books.notes.append(
            f"compared with the lines, and equal: {', '.join(compared)}"
            if compared
            else "the file states no totals, so a line that is missing or doubled with its entry would not be seen"
        )

    def _compare(self, lines: Sequence[_ExportLine], totals: ExportRow) -> None:
        stated = tuple(self._units(totals.cells[self._columns[side]]) for side in ("debit", "credit"))
        sums = _sums(lines)
        if stated != sums:
            (debit, credit), of_lines = (self._texts(units) for units in (stated, sums))
            self._books.errors.add(
                totals.place,
                f"it states totals of {debit} and {credit}, and {count_of(len(lines), 'line')} from "
                f"{lines[0].row.place} on sum to {' and '.join(of_lines)}",
            )

    def _texts(self, units: Iterable[int]) -> list[str]:
        return [format_amount(from_minor_units(amount, self._books.options.scale)) for amount in units]


def _add_entries(entries: Sequence[_Entry], given: AccountingExportChoices, books: FileEntries) -> list[ReadDay]:
    """Add entries to the books, and leave out entries without amounts."""
    days, cells = [], DayCells(given.date_order or "")
    local, counts, empty = zone(books.options.time_zone), Counter[str](), []
    places: dict[str, str] = {}
    for entry in entries:
        lines = [line for line in entry.lines if line.debit or line.credit]
        if not lines:
            empty.append(entry.place)
            continue
        date = entry.lines[0].cells["date"]
        try:
            moment = cells.moment(date)
            day = local_date(books.instants.parse(moment), local)
            entry_id = _entry_id(entry, lines, given.kind, day, counts)
            _refuse_repeated(entry_id, entry, places)
            days.append(ReadDay(entry.place, date, day))
            text = _text_of(entry)
            for line in lines:
                books.add(line.row.place, entry_id, moment, text, _new_line(line, text, given.accounts or {}))
        except ValueError as error:
            books.errors.add(entry.place, str(error))
    books.errors.raise_if_any()
    if not days:
        books.errors.fail("it has no entry with an amount")
    if empty:
        books.notes.append(
            f"entries without amounts, such as voided ones, were left out: {join_ids(empty, limit=_MAX_NAMED)}"
        )
    if more := sum(number - 1 for number in counts.values()):
        books.notes.append(
            f"{count_of(more, 'entry', 'entries')} with the day and the lines of another one were read too"
        )
    return days


def _refuse_repeated(entry_id: str, entry: _Entry, places: dict[str, str]) -> None:
    first = places.setdefault(entry_id, entry.place)
    if first != entry.place:
        raise ValueError(f"entry {entry.number} is on {first} too: it is doubled, or its lines are in two places")


def _entry_id(entry: _Entry, lines: Sequence[_ExportLine], kind: str, day: dt.date, counts: Counter[str]) -> str:
    """Return an entry's id: its number, or its day, content and count."""
    if entry.number:
        return f"{kind}-{entry.number}"
    texts = sorted(
        "\n".join([line.cells["account"], line.cells.get("memo", ""), str(line.debit - line.credit)]) for line in lines
    )
    digest = hashlib.sha256("\n".join([_text_of(entry), *texts]).encode()).hexdigest()[:16]
    identifier = f"{kind}-{day}-{digest}"
    counts[identifier] += 1
    return f"{identifier}-{counts[identifier]}"


def _text_of(entry: _Entry) -> str:
    first = entry.lines[0].cells
    if entry.number and not first.get("type"):
        return " ".join(filter(None, ["Journal", entry.number, entry.text]))
    return " ".join(filter(None, [first.get("type"), first.get("number"), first.get("name")]))


def _new_line(line: _ExportLine, text: str, accounts: Mapping[str, str]) -> NewLine:
    described = ", ".join(filter(None, [line.cells.get("name"), line.cells.get("memo")]))
    transaction = NewTransaction(line.cells.get("name") or described or text)
    path = path_of(line.cells["account"], accounts) or ""
    return NewLine(path, line.debit - line.credit, described, transaction)
