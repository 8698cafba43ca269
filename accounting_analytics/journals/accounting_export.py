"""The journal report of QuickBooks or Xero, exported as CSV: its entries, compared with the totals that it states."""

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
from accounting_analytics.journals.entries import NewLine, NewTransaction
from accounting_analytics.journals.export_cells import DayCells, ReadDay, StatedForms, check_days, read_export

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.core.periods import Period
    from accounting_analytics.journals.export_cells import ExportRow
    from accounting_analytics.journals.file_books import FileBooks

HEADINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "quickbooks": {
        "date": ("Date", "Transaction date"),
        "account": ("Account", "Account full name", "Distribution account"),
        "debit": ("Debit",),
        "credit": ("Credit",),
        "type": ("Transaction Type", "Transaction type", "Type"),
        "number": ("Num", "No."),
        "name": ("Name",),
        "memo": ("Memo/Description", "Memo", "Description"),
        "entry": ("Trans #", "Trans #."),
    },
    "xero": {
        "date": ("Date",),
        "account": ("Account", "Account Name"),
        "debit": ("Debit",),
        "credit": ("Credit",),
        "name": ("Contact", "Name"),
        "memo": ("Description", "Reference"),
    },
}
"""Headings of the columns of each kind of file, in each form that the program writes."""
_REQUIRED = ("date", "account", "debit", "credit")
_NUMBER = re.compile(r"ID (\d+)\b[ ,|:-]*(.*)")
"""The row with the number of an entry in Xero, which stands above its lines."""
_SHOWN_ROWS, _MAX_NAMED = 3, 3


class AccountingExport(NamedTuple):
    """What a person says of a file: None is not stated."""

    kind: str
    accounts: Mapping[str, str] | None
    currency: str
    date_order: str | None = None
    decimal_mark: str | None = None
    period: Period | None = None
    encoding: str = "utf-8"


class _Entry:
    """Lines of an entry, up to its row of totals."""

    def __init__(self, number: str = "", text: str = "") -> None:
        self.number, self.text = number, text
        self.lines: list[_ExportLine] = []
        self.totals: ExportRow | None = None

    @property
    def place(self) -> str:
        """Its first line."""
        return self.lines[0].row.place


class _ExportLine(NamedTuple):
    """A line of an entry: its cells by what they are, and its amounts."""

    row: ExportRow
    cells: Mapping[str, str]
    debit: int
    credit: int


def read_accounting_export(given: AccountingExport, books: FileBooks) -> tuple[dt.date, dt.date]:
    """Read the entries of a journal report; return its first and last day.

    The lines of each entry must sum to its totals, and all lines to the last totals.
    """
    forms = HEADINGS[given.kind]
    file = read_export(books.path, [forms[name] for name in _REQUIRED], books.errors, given.encoding)
    columns = {name: next((one for one in file.headings if one in of), "") for name, of in forms.items()}
    rows = [row for row in file.rows if row.cells[columns["account"]]]
    if not rows:
        books.errors.fail("it has no line with an account")
    _require_decisions(rows, columns, given, books)
    reader = _EntryReader(given, columns, books)
    for row in file.rows:
        reader.read(row)
    books.errors.raise_if_any()
    entries = [one for one in reader.entries if one.lines]
    reader.check_totals(entries)
    days = _add_entries(entries, given, books)
    check_days(days, given.date_order or "", given.period, books.errors)
    books.errors.raise_if_any()
    first, last = min(one.day for one in days), max(one.day for one in days)
    return (given.period.start_date, given.period.end_date) if given.period else (first, last)


def _require_decisions(
    rows: Sequence[ExportRow], columns: Mapping[str, str], given: AccountingExport, books: FileBooks
) -> None:
    """Refuse decisions that are not stated, with what the first lines are by each reading, and unknown accounts."""
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
            books.errors.add(row.place, f"account {quote(name)} has no path: add it to accounts=")
    books.errors.raise_if_any()


def path_of(name: str, accounts: Mapping[str, str]) -> str | None:
    """Path of an account: its own, or below that of its parent; None where neither is given."""
    if name in accounts:
        return accounts[name]
    parent, separator, last = name.rpartition(PATH_SEPARATOR)
    above = path_of(parent, accounts) if separator else None
    return above and f"{above}{PATH_SEPARATOR}{last.strip()}"


class _EntryReader:
    """Reads rows into entries: lines, totals, numbers of entries, and rows that end them."""

    def __init__(self, given: AccountingExport, columns: Mapping[str, str], books: FileBooks) -> None:
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
                self._add_totals(row)
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
        has_other_number = entry is not None and cells.get("entry") and entry.number not in {"", cells["entry"]}
        if entry is None or entry.totals is not None or has_other_number:
            if self._given.kind == "xero":
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

    def _units(self, cell: str) -> int:
        return self._amounts.units(cell) if cell else 0

    def _add_totals(self, row: ExportRow) -> None:
        entry = self._current
        if entry is None or not entry.lines or entry.totals is not None:
            self._totals.append(row)
        else:
            entry.totals = row

    def check_totals(self, entries: Sequence[_Entry]) -> None:
        """Compare the lines of each entry with its totals, and all lines with the totals of the file; say what was."""
        with_totals = [one for one in entries if one.totals is not None]
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
            f"compared with the lines, and equal: {', '.join(compared)}" if compared else "the file states no totals"
        )

    def _compare(self, lines: Sequence[_ExportLine], totals: ExportRow) -> None:
        stated = [self._units(totals.cells[self._columns[side]]) for side in ("debit", "credit")]
        sums = [sum(line.debit for line in lines), sum(line.credit for line in lines)]
        if stated != sums:
            (debit, credit), of_lines = (self._texts(one) for one in (stated, sums))
            self._books.errors.add(
                totals.place,
                f"it states totals of {debit} and {credit}, and {count_of(len(lines), 'line')} from "
                f"{lines[0].row.place} on sum to {' and '.join(of_lines)}",
            )

    def _texts(self, units: Iterable[int]) -> list[str]:
        return [format_amount(from_minor_units(one, self._books.options.scale)) for one in units]


def _add_entries(entries: Sequence[_Entry], given: AccountingExport, books: FileBooks) -> list[ReadDay]:
    """Add entries to the books; those without amounts, such as voided ones, are left out."""
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
    return days


def _refuse_repeated(entry_id: str, entry: _Entry, places: dict[str, str]) -> None:
    first = places.setdefault(entry_id, entry.place)
    if first != entry.place:
        raise ValueError(f"entry {entry_id} is on {first} too")


def _entry_id(entry: _Entry, lines: Sequence[_ExportLine], kind: str, day: dt.date, counts: Counter[str]) -> str:
    """Id of an entry: its number, or its day and content, and which of several equal ones it is."""
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
