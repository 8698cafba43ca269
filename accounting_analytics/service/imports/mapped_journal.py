"""Journals of other programs: rows with account, debit and credit, grouped into entries."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from accounting_analytics.errors import AmountError
from accounting_analytics.messages import quote
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.service.imports.account_types import AccountTypes, ForeignAccount
from accounting_analytics.service.imports.cell_values import read_amount, read_date
from accounting_analytics.service.imports.entry_ids import content_ids
from accounting_analytics.service.imports.mapped_table import Line, MappedTable, TotalRow
from accounting_analytics.service.imports.parsed_books import FileLine, ImportOptions, ParsedBooks, build_books
from accounting_analytics.service.imports.table_files import InstantParser

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.imports.mapping import Mapping

_ZERO = Decimal(0)


class _JournalLine(NamedTuple):
    line: FileLine
    number: str
    is_dated: bool


def read_mapped_journal(
    table: MappedTable, mapping: Mapping, options: ImportOptions, errors: ImportErrors
) -> ParsedBooks:
    """Group the lines of a table into entries with paths of accounts."""
    reader = _Reader(table, mapping, options, errors)
    reader.read()
    notes = [f"{len(table.left_out)} rows of titles and other text were left out"] if table.left_out else []
    if reader.without_amount:
        notes.append(f"{reader.without_amount} lines without an amount were left out")
    if reader.splits_by_balance:
        notes.append("nothing in the file separates its entries, so each ends where its debits equal its credits")
    instants = reader.instants
    return replace(build_books(reader.lines(), options, errors, notes), local_count=instants.local_count)


class _Reader:
    """Reads the rows one after the other into entries."""

    def __init__(self, table: MappedTable, mapping: Mapping, options: ImportOptions, errors: ImportErrors) -> None:
        self.table, self.mapping, self.scale, self.errors = table, mapping, options.scale, errors
        self.instants = InstantParser(options.time_zone)
        self.types = AccountTypes(mapping.accounts, mapping.types)
        self.entries: dict[str, list[FileLine]] = {}
        self.numbers: dict[str, str] = {}
        self.without_amount = 0
        self.untyped: dict[str, list[str]] = {}
        lines = table.lines
        has_numbers = any(line.cells["number"] != "" or "number" in line.heading for line in lines)
        self.splits_by_balance = not has_numbers and sum(line.separated for line in lines) <= 1
        self.day: dt.date | None = None
        self.has_wrong_date = False
        self.number = self.key = self.description = ""

    def read(self) -> None:
        """Read every row; problems are added to the errors."""
        group, every = _Sums(), _Sums()
        for row in self.table.rows:
            if isinstance(row, TotalRow):
                if group.lines:
                    self._check_total(row, group, every)
                elif not self.errors.problems:
                    self._check_total(row, every, every)
                group = _Sums()
                continue
            if row.separated:
                group = _Sums()
            known = len(self.errors.problems)
            signed = self._read_line(row)
            for sums in (group, every):
                sums.add(signed, is_readable=known == len(self.errors.problems))
        for name, locations in self.untyped.items():
            self.errors.add(
                locations[0],
                f'account {quote(name)} ({len(locations)} lines) has no type: add {name!r} = "expenses" (or assets, '
                "liabilities, equity, income) to [accounts] of a mapping, which --inspect prints",
            )

    def lines(self) -> list[FileLine]:
        """Lines with the ids of their entries."""
        contents = {
            key: [
                f"{line.instant}\x1f{line.entry_description}\x1f{line.account}\x1f{line.signed.normalize():f}"
                for line in lines
            ]
            for key, lines in self.entries.items()
        }
        ids = content_ids("jl", contents)
        if self.mapping.numbers_are_ids:
            # numbers of different programs are different entries
            program = re.sub(r"\W", "", self.mapping.title.partition(",")[0]).lower()[:20] or "no"
            ids |= {key: f"{program}_{number.replace('/', '_')[:120]}" for key, number in self.numbers.items()}
        self.errors.incomplete = {ids.get(key, key) for key in self.errors.incomplete}
        return [
            msgspec.structs.replace(line, entry_id=ids[key]) for key, lines in self.entries.items() for line in lines
        ]

    def _read_line(self, row: Line) -> Decimal | None:
        """Add a line to its entry, and return its signed amount; None if it has none."""
        self._begin_entry(row)
        day, text = str(self.day or ""), self.description
        try:
            signed = self._signed(row)
            if self.day is None and self.has_wrong_date:
                self.errors.incomplete.add(self.key)
                return signed
            if self.day is None:
                self.has_wrong_date = True
                raise ValueError("it has no date, and no line above it in its entry has one")  # noqa: TRY301
        except (ValueError, AmountError) as error:
            self.errors.add_line(row.location, str(error), self.key, date=day, description=text)
            return None
        if signed is None:
            self.without_amount += 1
            return None
        account = row.text("account")
        if not account:
            self.errors.add_line(row.location, "it has no account", self.key, date=day, description=text)
            return signed
        path = self.types.path(ForeignAccount(account, row.text("code"), row.text("type")))
        if path is None:
            self.untyped.setdefault(account, []).append(row.location)
            self.errors.incomplete.add(self.key)
            return signed
        line = FileLine(
            location=row.location,
            entry_id=self.key,
            instant=self.instants.parse(self.day),
            entry_description=self.description,
            account=path,
            signed=signed,
            description=row.text("line_description"),
        )
        self.entries.setdefault(self.key, []).append(line)
        return signed

    def _begin_entry(self, row: Line) -> None:
        """Set day, number and text of the entry of a row, which may be the first one of it."""
        number = row.text("number") or row.heading.get("number", "")
        cell = row.cells["date"] or row.heading.get("date", "")
        day, problem = None, ""
        if cell != "":
            try:
                day = read_date(cell, self.table.date_format)
            except ValueError as error:
                problem = str(error)
        if self._is_first(row, number, day):
            self.number, self.day, self.has_wrong_date = number, day, False
            self.description = row.heading.get("description") or row.text("description")
            self.key = f"{number}\x1f{row.location}" if number not in self.numbers.values() else self._key_of(number)
            if number:
                self.numbers[self.key] = number
        elif day is not None and self.day is None:
            self.day = day
        elif day is not None and day != self.day:
            problem = f"its date {day} is not that of its entry, {self.day}"
        if problem:
            self.has_wrong_date = True
            date = str(self.day or "")
            self.errors.add_line(row.location, problem, self.key, date=date, description=self.description)

    def _key_of(self, number: str) -> str:
        return next(key for key, known in self.numbers.items() if known == number)

    def _is_first(self, row: Line, number: str, day: dt.date | None) -> bool:
        if not self.key or (number and number != self.number):
            return True
        if row.separated:
            return not number or number != self.number
        if self.splits_by_balance and self.entries.get(self.key):
            return not reduce(EXACT.add, [line.signed for line in self.entries[self.key]]) or (
                day is not None and day != self.day
            )
        return False

    def _signed(self, row: Line) -> Decimal | None:
        """Debit less credit, or the amount with its sign; None if the row has neither."""
        given = [row.cells[name] for name in ("debit", "credit", "amount")]
        if all(cell == "" for cell in given):
            return None
        debit, credit, amount = (read_amount(cell, self.table.decimal, self.scale) for cell in given)
        if debit and credit:
            raise ValueError(f"it has a debit of {debit} and a credit of {credit}: one of them is wrong")
        signed = EXACT.subtract(debit, credit)
        if not debit and not credit and amount:
            signed = amount if self.mapping.positive == "debit" else amount.copy_negate()
        return signed

    def _check_total(self, row: TotalRow, sums: _Sums, every: _Sums) -> None:
        """Compare a row of totals with the lines above it: those of an entry, or all of them."""
        if not sums.is_readable:
            return
        problems = []
        for name, own, all_lines in (("debits", sums.debits, every.debits), ("credits", sums.credits, every.credits)):
            cell = row.cells[name[:-1]]
            try:
                stated = read_amount(cell, self.table.decimal, self.scale)
            except AmountError as error:
                problems.append(f"total: {error}")
                continue
            if cell != "" and stated not in {own, all_lines}:
                problems.append(
                    f"its total of {name} is {format_amount(stated)}, the lines above it sum to {format_amount(own)}"
                )
        if problems:
            text = f"{' and '.join(problems)}: a line is missing or was changed"
            self.errors.add(row.location, text, date=str(self.day or ""), description=self.description)


@dataclass
class _Sums:
    """Sums of lines, which are not known if one of them could not be read."""

    lines: int = 0
    debits: Decimal = _ZERO
    credits: Decimal = _ZERO
    is_readable: bool = True

    def add(self, signed: Decimal | None, *, is_readable: bool) -> None:
        """Add a line, which has no amount or is none if it could not be read."""
        self.lines += 1
        self.is_readable &= is_readable
        if signed is not None and signed > 0:
            self.debits = EXACT.add(self.debits, signed)
        elif signed is not None:
            self.credits = EXACT.subtract(self.credits, signed)
